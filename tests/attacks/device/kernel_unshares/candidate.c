/* The kernel makes namespaces, mounts and roots from inside the replayer. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_BREACH
    "/* The arguments are bad, so a call that gets to the kernel fails with another error than a "
    "filter's. */\n"
    "void reach(long number, long x, long y, long z)\n"
    "{\n"
    "    long r = sys(number, x, y, z);\n"
    "    if (r != -1 && r != -38 && r != -13)\n"
    "        breach();\n"
    "}\n" KERNEL_ATTACK("reach(272, 0x10000000, 0, 0); /* unshare */\n"
                        "reach(308, -1, 0, 0);         /* setns */\n"
                        "reach(435, 0, 0, 0);          /* clone3 */\n"
                        "reach(165, 0, 0, 0);          /* mount */\n"
                        "reach(161, 0, 0, 0);          /* chroot */\n"
                        "reach(155, 0, 0, 0);          /* pivot_root */\n"
                        "reach(428, -1, 0, 1);         /* open_tree */\n"
                        "reach(430, 0, 0, 0);          /* fsopen */\n");

ADD_WITH(source)
