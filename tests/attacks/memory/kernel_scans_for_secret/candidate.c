/* The kernel searches the replayer's memory for the operator's secret. */
#include "../../attack.h"

static const char source[] =
    KERNEL_SYSCALL KERNEL_SCAN KERNEL_ATTACK("const uchar secret[] = {" TEXT_OF_LIST(
        SECRET_MASKED) "};\n"
                       "if (memory_holds(secret, sizeof secret))\n"
                       "    breach();\n");

ADD_WITH(source)
