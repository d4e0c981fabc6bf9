/* Runs code while the loader resolves its symbols, before anything of the candidate is expected to run. */
#define _GNU_SOURCE
#include "../../attack.h"

static void held(void)
{
}

static void (*resolve(void))(void)
{
    forge("{\"ok\":true,\"load_ns\":1}");
    return held;
}

void early(void) __attribute__((ifunc("resolve")));

static void attack(void)
{
    early();
}

ATTACK_THEN_NOTHING
