/* The kernel overwrites the replayer's own data, of which nothing belongs to it. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_ATTACK(
    "/* The end of the heap is found by brk(0); what lies before it is the replayer's. */\n"
    "long end = sys(12, 0, 0, 0);\n"
    "for (long at = end - (8 << 20); at < end - 4096; at += 8)\n"
    "    *(global long *)at = 0x4141414141414141l;\n");

ADD_WITH(source)
