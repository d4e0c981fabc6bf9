/* Sends a request for a jail without limits on each of its descriptors, and waits for an answer on the leash that it sends along. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/socket.h>

#include "../../attack.h"

static void attack(void)
{
    static char request[4096];
    int leash[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, leash))
        return;
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE(sizeof(int))];
    } control = {.align = {.cmsg_len = CMSG_LEN(sizeof(int)),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.align), &leash[1], sizeof(int));
    memcpy(request, "qrgk", 4);
    struct iovec part = {request, sizeof request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    for (int fd = 0; fd < 64; fd++)
        if (fd != leash[0] && fd != leash[1] &&
            sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            continue;
    close(leash[1]);
    char status[8192];
    struct pollfd answer = {.fd = leash[0], .events = POLLIN};
    if (poll(&answer, 1, 300) == 1 && recv(leash[0], status, sizeof status, MSG_DONTWAIT) > 0)
        breach("the spawner answers");
}

ATTACK_THEN_NOTHING
