/* Opens the source of another grade, under every path that could lead out of its root. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const paths[] = {NEIGHBOUR, "/proc/self/root" NEIGHBOUR,
                                        "/../../../.." NEIGHBOUR,
                                        "/proc/self/cwd/../../../.." NEIGHBOUR};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (file_tells(paths[i]))
            breach(paths[i]);
}

ATTACK_THEN_NOTHING
