/* The kernel write-protects its inputs, so that the next replay would have the same ones. */
#include "../../attack.h"

static const char source[] =
    KERNEL_SYSCALL KERNEL_ATTACK("c[0] = a[0] + b[0]; /* right, so that there is a next replay */\n"
                                 "sys(10, (long)a & ~4095l, 4096, 1);\n");

ADD_WITH(source)
