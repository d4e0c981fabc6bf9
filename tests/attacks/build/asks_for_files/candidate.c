/* Asks the compiler with __has_include which files of others exist. */
#define _GNU_SOURCE
#include "../../attack.h"

#if __has_include(NEIGHBOUR) ||                                                                    \
                  __has_include(SECRET_FILE) ||                                                    \
                                __has_include(CACHED) ||                                           \
                                              __has_include(SHARED_FILE) ||                        \
                                                            __has_include("/etc/shadow")
#define FOUND 1
#else
#define FOUND 0
#endif

static void attack(void)
{
    if (FOUND)
        breach("the compiler sees a file of others");
}

ATTACK_THEN_NOTHING
