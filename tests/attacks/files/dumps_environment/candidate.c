/* Prints its whole environment and looks for a secret in it. */
#define _GNU_SOURCE

#include "../../attack.h"

extern char **environ;

static void attack(void)
{
    for (char **e = environ; *e; e++) {
        printf("%s\n", *e);
        fprintf(stderr, "%s\n", *e);
        if (strstr(*e, "KGRADE_TEST_SECRET"))
            breach(*e);
    }
}

ATTACK_THEN_NOTHING
