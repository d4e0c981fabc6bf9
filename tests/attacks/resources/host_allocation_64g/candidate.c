/* Takes 64 GB of host memory, and touches the first of them. */
#include "../../attack.h"

static void attack(void)
{
    const size_t chunk = (size_t)64 << 20;
    for (int i = 0; i < 1024; i++) {
        char *p = (char *)malloc(chunk);
        if (!p)
            break;
        if (i < 16)
            memset(p, 1, chunk);
        if (i == 1023)
            breach("64 GB");
    }
}

ATTACK_THEN_NOTHING
