/* Opens a socket of every address family and type but Unix ones. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

static int family;

static int opens(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM};
    int pair[2];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (socket(family, types[i], 0) >= 0 || socketpair(family, types[i], 0, pair) == 0)
            return 1;
    return 0;
}

static void attack(void)
{
    char name[32];
    for (family = 0; family < 64; family++) {
        snprintf(name, sizeof name, "family %d", family);
        if (family != AF_UNIX)
            attempt(name, opens);
    }
}

ATTACK_THEN_NOTHING
