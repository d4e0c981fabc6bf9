/* Runs code while the loader resolves its symbols, before anything of the candidate is expected to run. */
#define _GNU_SOURCE
#include "../../attack.h"

/* As C++ the name that the attribute gives would be another. */
#ifdef __cplusplus
extern "C" void (*resolve(void))(void);
extern "C" void early(void) __attribute__((ifunc("resolve")));
#else
void early(void) __attribute__((ifunc("resolve")));
#endif

static void held(void)
{
}

void (*resolve(void))(void)
{
    forge("{\"ok\":true,\"load_ns\":1}");
    return held;
}

static void attack(void)
{
    early();
}

ATTACK_THEN_NOTHING
