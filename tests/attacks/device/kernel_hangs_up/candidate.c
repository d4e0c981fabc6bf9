/* The kernel closes the replayer's connection and stays. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_ATTACK("sys(48, 3, 2, 0);\n"
                                                          "for (;;)\n"
                                                          "    sys(34, 0, 0, 0);\n");

ADD_WITH(source)
