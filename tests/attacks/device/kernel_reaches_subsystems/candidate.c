/* The kernel reaches for the system calls with a history of holes from inside the replayer. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH
    "/* The arguments are bad, so a call that gets to the kernel fails with another error than a "
    "filter's. */\n"
    "void reach(long number, long x, long y, long z)\n"
    "{\n"
    "    long r = sys(number, x, y, z);\n"
    "    if (r != -1 && r != -38 && r != -13)\n"
    "        breach();\n"
    "}\n" KERNEL_ATTACK("reach(425, 0, 0, 0);  /* io_uring_setup */\n"
                        "reach(323, 1, 0, 0);  /* userfaultfd */\n"
                        "reach(321, 0, 0, 0);  /* bpf */\n"
                        "reach(298, 0, 0, -1); /* perf_event_open */\n"
                        "reach(250, 0, -3, 0); /* keyctl */\n"
                        "reach(313, -1, 0, 0); /* finit_module */\n"
                        "reach(135, 0x40000, 0, 0); /* personality */\n");

ADD_WITH(source)
