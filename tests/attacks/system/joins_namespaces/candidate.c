/* Joins the namespaces of the first process and of the grader. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../attack.h"

static int joins(void)
{
    static const char *const kinds[] = {"user", "mnt", "net", "ipc", "uts", "pid", "cgroup"};
    const int others[] = {1, getppid(), GRADER};
    char path[64];
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            snprintf(path, sizeof path, "/proc/%d/ns/%s", others[i], kinds[k]);
            int fd = open(path, O_RDONLY);
            if (fd >= 0 && setns(fd, 0) == 0)
                return 1;
        }
    return 0;
}

static void attack(void)
{
    attempt("setns", joins);
}

ATTACK_THEN_NOTHING
