/* Looks for descriptors that lead to a file or a socket that it should not have. */
#include "../../attack.h"

static void attack(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        char link[32], target[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = 0;
        if (strstr(target, "secret") || strstr(target, "tasks") || strstr(target, "reference") ||
            strstr(target, ".json"))
            breach(target);
    }
}

ATTACK_THEN_NOTHING
