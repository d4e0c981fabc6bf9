/* The kernel searches the replayer's memory for the pattern that the grade before it has left. */
#define MARKER 1, 20, 38, 7, 66, 93, 41, 160, 201, 13, 77, 250, 88, 31, 9, 144

#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_SCAN KERNEL_ATTACK(
    "const uchar marker[] = {" TEXT_OF_LIST(MARKER) "};\n"
                                                    "if (memory_holds(marker, sizeof marker))\n"
                                                    "    breach();\n");

ADD_WITH(source)
