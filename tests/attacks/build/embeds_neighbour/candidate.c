/* Embeds another grade's source with #embed, where the compiler knows it. */
#define _GNU_SOURCE
#include "../../attack.h"

#ifdef __has_embed
#if __has_embed(NEIGHBOUR)
static const unsigned char stolen[] = {
#embed NEIGHBOUR
};
#define STOLEN stolen
#endif
#endif
#ifndef STOLEN
#define STOLEN ""
#endif

static void attack(void)
{
    if (holds_secret(STOLEN, sizeof STOLEN))
        breach("#embed");
}

ATTACK_THEN_NOTHING
