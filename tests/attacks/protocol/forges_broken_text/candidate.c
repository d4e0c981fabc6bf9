/* Sends messages that are not UTF-8, or have zero bytes inside. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char broken[] = "{\"stage\":\"\xff\xfe\xc0\x80\"}",
                      zero[] = "{\"stage\":\"a\0b\"}";
    forge_frame(3, sizeof zero - 1, zero, sizeof zero - 1, 0);
    forge_frame(3, sizeof broken - 1, broken, sizeof broken - 1, 0);
}

ATTACK_THEN_NOTHING
