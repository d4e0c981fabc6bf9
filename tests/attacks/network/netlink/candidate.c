/* Talks to the kernel over netlink: routes, interfaces, events, audit. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

static int talks(void)
{
    for (int protocol = 0; protocol < 32; protocol++)
        if (socket(AF_NETLINK, SOCK_RAW, protocol) >= 0)
            return 1;
    return 0;
}

static void attack(void)
{
    attempt("netlink", talks);
}

ATTACK_THEN_NOTHING
