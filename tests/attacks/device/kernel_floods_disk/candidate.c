/* The kernel writes a file of 256 MB. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH KERNEL_ATTACK(
    "long fd = sys(2, (long)\"/tmp/flood\", 0101, 0600);\n"
    "for (int k = 0; k < 65536; k++)\n"
    "    if (sys(1, fd, (long)a, 4000) <= 0)\n"
    "        break;\n"
    "if (sys(8, fd, 0, 1) >= 65536 * 4000l)\n"
    "    breach();\n");

ADD_WITH(source)
