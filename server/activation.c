#define _GNU_SOURCE
#include "activation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../sandbox/base/fail.h"

/* The first descriptor that is passed. */
#define FIRST_DESCRIPTOR 3

static bool is_number(const char *text, unsigned long *ret)
{
    char *end = NULL;
    errno = 0;
    *ret = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && !errno;
}

int activation_socket(kgrade_error *err)
{
    unsigned long pid, count;
    /* The variables are inherited: those with another process's number are not for this one. */
    if (!is_number(getenv("LISTEN_PID"), &pid) || pid != (unsigned long)getpid())
        return ACTIVATION_NONE;
    if (!is_number(getenv("LISTEN_FDS"), &count) || count == 0)
        return ACTIVATION_NONE;
    if (count > 1) {
        const char *names = getenv("LISTEN_FDNAMES");
        return fail(err, "activation_failed",
                    "Leave one ListenStream= in the socket unit; start a second kgraded for the "
                    "other.",
                    "The service manager has passed %lu sockets (%.200s), and kgraded serves on "
                    "one.",
                    count, names ? names : "unnamed");
    }
    return FIRST_DESCRIPTOR;
}
