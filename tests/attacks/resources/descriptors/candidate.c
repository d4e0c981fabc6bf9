/* Opens files until it may open no more. */
#define _GNU_SOURCE
#include "../../attack.h"

static int opens(void)
{
    for (int i = 0; i < 4096; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            return 0;
    return 1;
}

static void attack(void)
{
    attempt("4096 descriptors", opens);
}

ATTACK_THEN_NOTHING
