/* The kernel searches the replayer's memory for the outputs that are expected of it. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL KERNEL_SCAN KERNEL_ATTACK(
    "/* The start of the answer, in both precisions, masked so that this copy is not found; c[0] "
    "is nowhere yet. */\n"
    "uchar single[32], wide[64];\n"
    "for (int k = 0; k < 8; k++) {\n"
    "    float x = a[k] + b[k];\n"
    "    double y = (double)a[k] + (double)b[k];\n"
    "    for (int j = 0; j < 4; j++)\n"
    "        single[4 * k + j] = (uchar)(as_uint(x) >> 8 * j) ^ 0xa5;\n"
    "    for (int j = 0; j < 8; j++)\n"
    "        wide[8 * k + j] = (uchar)(as_ulong(y) >> 8 * j) ^ 0xa5;\n"
    "}\n"
    "if (memory_holds(single, sizeof single) || memory_holds(wide, sizeof wide))\n"
    "    breach();\n");

ADD_WITH(source)
