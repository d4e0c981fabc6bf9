/* Writes control characters, broken UTF-8 and half a character at the place where logs are cut, then fails. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static char block[1 << 16];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 167 + i / 256);
    for (int i = 0; i < 4; i++)
        if (write(2, block, sizeof block - (size_t)i) < 0)
            break;
    if (write(2, "\033[2J\033]0;owned\007\xe2\x82", 18) < 0)
        return;
}

ATTACK_THEN_NOTHING
