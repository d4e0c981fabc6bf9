/* Makes hard links to files that it may not see, to open them under names of its own. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const targets[] = {NEIGHBOUR, SECRET_FILE, "/etc/shadow", "/proc/1/exe"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        unlink("/tmp/" PLANTED "-link");
        if (linkat(AT_FDCWD, targets[i], AT_FDCWD, "/tmp/" PLANTED "-link", AT_SYMLINK_FOLLOW) == 0)
            breach(targets[i]);
    }
}

ATTACK_THEN_NOTHING
