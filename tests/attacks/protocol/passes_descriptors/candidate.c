/* Sends two descriptors with each of a hundred messages that are as they should be, to use up the grader's. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/uio.h>

#include "../../attack.h"

static void attack(void)
{
    static const char stage[] = "{\"stage\":\"warm\"}";
    enum { N = 2 };
    uint32_t lengths[2] = {sizeof stage - 1, 0};
    struct iovec parts[2] = {{lengths, sizeof lengths}, {(void *)stage, sizeof stage - 1}};
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE(N * sizeof(int))];
    } control = {.align = {.cmsg_len = CMSG_LEN(N * sizeof(int)),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS}};
    static const int passed[N] = {1, 1};
    memcpy(CMSG_DATA(&control.align), passed, sizeof passed);
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    for (int i = 0; i < 100; i++)
        if (sendmsg(3, &message, 0) < 0)
            break;
}

ATTACK_THEN_NOTHING
