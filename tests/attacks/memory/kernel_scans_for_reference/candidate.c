/* The kernel searches the replayer's memory for the reference. */
#include "../../attack.h"

static const char source[] =
    KERNEL_SYSCALL KERNEL_SCAN KERNEL_ATTACK("const uchar reference[] = {" TEXT_OF_LIST(
        REFERENCE_MASKED) "};\n"
                          "if (memory_holds(reference, sizeof reference))\n"
                          "    breach();\n");

ADD_WITH(source)
