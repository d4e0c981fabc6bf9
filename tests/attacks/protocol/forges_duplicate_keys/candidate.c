/* Says both that all is well and that it is not. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    forge("{\"ok\":false,\"code\":\"a\",\"message\":\"LEAK\",\"hint\":\"\",\"ok\":true}");
}

ATTACK_THEN_NOTHING
