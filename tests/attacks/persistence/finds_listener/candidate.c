/* Connects to the daemon that the grade before it has left. */
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
    if (connect(a, (struct sockaddr *)&name, sizeof(sa_family_t) + sizeof PLANTED) == 0 ||
        connect(b, (struct sockaddr *)&file, sizeof file) == 0)
        breach("somebody listens");
}

ATTACK_THEN_NOTHING
