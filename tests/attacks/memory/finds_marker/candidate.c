/* Searches all memory that it can get for the pattern that the grade before it has left. */
#define _GNU_SOURCE
#define MARKER 1, 20, 38, 7, 66, 93, 41, 160, 201, 13, 77, 250, 88, 31, 9, 144

#include "../../attack.h"

static void attack(void)
{
    static const unsigned char masked[] = {MARKER};
    for (int i = 0; i < 8; i++) {
        volatile char *p = (volatile char *)malloc(16 << 20); /* as it comes, whatever was there */
        if (p)
            p[0] = p[1 << 20];
    }
    if (memory_holds(masked, sizeof masked))
        breach("the pattern of the grade before");
}

ATTACK_THEN_NOTHING
