/* Leaves a daemon that listens on an abstract socket and on one in a file. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/un.h>

#include "../../attack.h"

static void attack(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX},
                       file = {.sun_family = AF_UNIX, .sun_path = "/tmp/" PLANTED "-socket"};
    memcpy(name.sun_path + 1, PLANTED, sizeof PLANTED - 1);
    int a = socket(AF_UNIX, SOCK_STREAM, 0), b = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(a, (struct sockaddr *)&name, sizeof(sa_family_t) + sizeof PLANTED) || listen(a, 8) ||
        bind(b, (struct sockaddr *)&file, sizeof file) || listen(b, 8))
        return;
    if (fork())
        return;
    setsid();
    if (fork())
        _exit(0);
    for (int s = 1; s < 65; s++)
        signal(s, SIG_IGN);
    for (;;)
        pause();
}

ATTACK_THEN_NOTHING
