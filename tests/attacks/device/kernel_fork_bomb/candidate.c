/* The kernel forks until it cannot. */
#include "../../attack.h"

static const char source[] =
    KERNEL_SYSCALL KERNEL_BREACH KERNEL_ATTACK("for (int k = 0; k < 1000; k++) {\n"
                                               "    long child = sys(57, 0, 0, 0);\n"
                                               "    if (child == 0)\n"
                                               "        for (;;)\n"
                                               "            sys(34, 0, 0, 0);\n"
                                               "    if (child < 0)\n"
                                               "        break;\n"
                                               "    if (k == 999)\n"
                                               "        breach();\n"
                                               "}\n");

ADD_WITH(source)
