/* The kernel traces processes and reads their memory from inside the replayer. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH
    "/* The arguments are bad, so a call that gets to the kernel fails with another error than a "
    "filter's. */\n"
    "void reach(long number, long x, long y, long z)\n"
    "{\n"
    "    long r = sys(number, x, y, z);\n"
    "    if (r != -1 && r != -38 && r != -13)\n"
    "        breach();\n"
    "}\n" KERNEL_ATTACK("reach(101, 0, 0, 0);               /* ptrace: trace me */\n"
                        "reach(101, 16, 1, 0);              /* ptrace: attach */\n"
                        "reach(310, 1, 0, 0);               /* process_vm_readv */\n"
                        "reach(438, -1, 3, 0);              /* pidfd_getfd */\n"
                        "reach(312, 1, 1, 0);               /* kcmp */\n"
                        "if (sys(2, (long)\"/proc/1/mem\", 0, 0) >= 0 || sys(2, "
                        "(long)\"/proc/1/maps\", 0, 0) >= 0)\n"
                        "    breach();\n");

ADD_WITH(source)
