/* Announces 500 MB, within the limit, and sends a byte now and then, to make the grader wait and keep memory for it. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    forge_frame(3, 11, "{\"ok\":true}", 11, 500u << 20);
    for (;;) {
        usleep(50000);
        if (write(3, "x", 1) < 0)
            break;
    }
}

ATTACK_THEN_NOTHING
