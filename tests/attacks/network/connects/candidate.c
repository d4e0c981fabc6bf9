/* Looks for a way out: loopback TCP, an abstract socket and a socket file of the operator's. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../attack.h"

static void attack(void)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0)
        breach("TCP");
    memcpy(name.sun_path + 1, ABSTRACT_NAME, sizeof ABSTRACT_NAME - 1);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&name, sizeof(sa_family_t) + sizeof ABSTRACT_NAME) == 0)
        breach("abstract socket");
    struct sockaddr_un file = {.sun_family = AF_UNIX, .sun_path = SOCKET_FILE};
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&file, sizeof file) == 0)
        breach("socket file");
}

ATTACK_THEN_NOTHING
