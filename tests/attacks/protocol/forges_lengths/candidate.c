/* Announces messages just over each limit. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    forge_frame(3, (4u << 20) + 1, "{", 1, 0);
    forge_frame(3, 2, "{}", 2, (512u << 20) + 1);
}

ATTACK_THEN_NOTHING
