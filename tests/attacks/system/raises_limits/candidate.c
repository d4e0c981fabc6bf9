/* Raises its own limits, hard ones too. */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "../../attack.h"

static int resource;

static int raises(void)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_max == RLIM_INFINITY)
        return 0;
    limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static void attack(void)
{
    static const int resources[] = {RLIMIT_AS,   RLIMIT_FSIZE,   RLIMIT_NPROC,  RLIMIT_NOFILE,
                                    RLIMIT_CORE, RLIMIT_STACK,   RLIMIT_RTPRIO, RLIMIT_MSGQUEUE,
                                    RLIMIT_NICE, RLIMIT_MEMLOCK, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++) {
        resource = resources[i];
        attempt("setrlimit", raises);
    }
}

ATTACK_THEN_NOTHING
