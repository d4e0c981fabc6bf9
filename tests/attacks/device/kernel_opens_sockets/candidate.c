/* The kernel opens sockets of every family from inside the replayer. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH
    "/* The arguments are bad, so a call that gets to the kernel fails with another error than a "
    "filter's. */\n"
    "void reach(long number, long x, long y, long z)\n"
    "{\n"
    "    long r = sys(number, x, y, z);\n"
    "    if (r != -1 && r != -38 && r != -13)\n"
    "        breach();\n"
    "}\n" KERNEL_ATTACK("for (long family = 2; family < 46; family++)\n"
                        "    for (long type = 1; type < 6; type++)\n"
                        "        reach(41, family, type, 0);\n");

ADD_WITH(source)
