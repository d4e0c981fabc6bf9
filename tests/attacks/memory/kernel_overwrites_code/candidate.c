/* The kernel makes the replayer's code writable and replaces it by traps. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_ATTACK(
    "/* The program's entry point is in the auxiliary vector. */\n"
    "ulong pair[2] = {1, 0}, entry = 0;\n"
    "long fd = sys(2, (long)\"/proc/self/auxv\", 0, 0);\n"
    "while (sys(0, fd, (long)pair, 16) == 16 && pair[0])\n"
    "    if (pair[0] == 9)\n"
    "        entry = pair[1];\n"
    "if (entry && sys(10, entry & ~4095ul, 65536, 7) == 0)\n"
    "    for (ulong at = entry & ~4095ul; at < (entry & ~4095ul) + 65536; at++)\n"
    "        *(global uchar *)at = 0xcc;\n");

ADD_WITH(source)
