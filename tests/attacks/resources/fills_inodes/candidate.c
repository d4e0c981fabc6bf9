/* Makes empty files until something stops it. */
#include "../../attack.h"

static void attack(void)
{
    for (int i = 0; i < 1000000; i++) {
        char name[64];
        snprintf(name, sizeof name, "/tmp/" PLANTED "-%d", i);
        if (mknod(name, S_IFREG | 0600, 0))
            break;
        if (i == 999999)
            breach("a million files");
    }
}

ATTACK_THEN_NOTHING
