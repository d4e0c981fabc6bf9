#define _GNU_SOURCE
#include "parcel.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"

#define HINT "Restart kgrade: its processes are of different versions, or out of descriptors."

struct envelope {
    char magic[8];
    struct parcel parcel;
};

static const char magic[8] = "kgarena";

union control {
    struct cmsghdr header; /* for its alignment */
    char room[CMSG_SPACE(sizeof(int))];
};

int parcel_pack(const struct parcel *parcel, int memory_fd, int *ret_fd, kgrade_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return fail_errno(err, "arena_failed", HINT, "The arena's socket could not be made");
    cleanup_close int in = pair[0], out = pair[1];
    struct envelope envelope = {.parcel = *parcel};
    memcpy(envelope.magic, magic, sizeof magic);
    union control control = {.room = {0}};
    struct iovec part = {&envelope, sizeof envelope};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &memory_fd, sizeof(int));
    if (sendmsg(in, &message, MSG_NOSIGNAL) != (ssize_t)sizeof envelope)
        return fail_errno(err, "arena_failed", HINT, "The arena could not be put into its socket");
    *ret_fd = steal_fd(&out);
    return 0;
}

int parcel_open(int fd, struct parcel *ret, int *ret_memory_fd, kgrade_error *err)
{
    struct envelope envelope = {.magic = ""};
    union control control = {.room = {0}};
    struct iovec part = {&envelope, sizeof envelope};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return fail_errno(err, "arena_failed", HINT,
                          "The arena could not be taken from its socket");
    cleanup_close int memory = -1;
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&memory, CMSG_DATA(rights), sizeof memory);
    if (memory < 0 || got != (ssize_t)sizeof envelope ||
        message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || memcmp(envelope.magic, magic, sizeof magic))
        return fail(err, "arena_failed", HINT, "What came as the arena is not one.");
    *ret = envelope.parcel;
    *ret_memory_fd = steal_fd(&memory);
    return 0;
}
