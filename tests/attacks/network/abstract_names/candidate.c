/* Connects to an abstract socket of the machine, as a stream and with datagrams. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/un.h>

#include "../../attack.h"

static void attack(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path + 1, ABSTRACT_NAME, sizeof ABSTRACT_NAME - 1);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int fd = socket(AF_UNIX, types[i], 0);
        if (fd >= 0 &&
            connect(fd, (struct sockaddr *)&name, sizeof(sa_family_t) + sizeof ABSTRACT_NAME) == 0)
            breach("abstract socket");
    }
}

ATTACK_THEN_NOTHING
