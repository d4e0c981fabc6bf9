/*
 * The frames that workers send: bytes and descriptors through a socket, read until its end.  Every message is an object,
 * comes back the same when it is sent on, and no descriptor is left open.
 *
 * The first byte of the input tells where the first two descriptors ride, if any.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "grader/wire.h"
#include "sandbox/base/cleanup.h"

#define HEADER_BYTES 8
#define MAX_STREAM 65536u /* what a socket takes before it is read */
#define WAIT_NS (60 * IO_NS_PER_S)
#define N_DIMS 2

static void send_part(int socket, const uint8_t *data, size_t size, size_t n_fds)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        const int fds[2] = {socket, socket};
        memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
    }
    if (size)
        require(sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size);
}

static void read_fields(const struct wire_message *m)
{
    int64_t dims[N_DIMS] = {0};
    kgrade_error err = {.code = ""};
    uint64_t seed = wire_u64(m->json, "seed");
    json_auto_t *object = json_pack("{s:o}", "seed", wire_u64_json(seed));
    require(wire_u64(object, "seed") == seed);
    if (wire_dims(m->json, N_DIMS, dims, &err)) {
        require(!strcmp(err.code, "wire_invalid"));
        return;
    }
    int64_t back[N_DIMS];
    json_auto_t *again = json_pack("{s:o}", "dims", wire_dims_json(dims, N_DIMS));
    require(wire_dims(again, N_DIMS, back, NULL) == 0 && !memcmp(back, dims, sizeof dims));
}

static void send_on(const struct wire_message *m)
{
    int pair[2];
    cleanup_message struct wire_message back = {.fd = -1};
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    kgrade_error err = {.code = ""};
    if (wire_send(pair[0], json_incref(m->json), m->blob.data, m->blob.size, m->fd,
                  io_now() + WAIT_NS, &err) == 0) {
        require(wire_receive(pair[1], &back, io_now() + WAIT_NS, NULL) == 0);
        require(json_equal(back.json, m->json) && back.blob.size == m->blob.size);
        require(!m->blob.size || !memcmp(back.blob.data, m->blob.data, m->blob.size));
        require((back.fd >= 0) == (m->fd >= 0));
    } else { /* a number like 1e-400 is read but cannot always be written */
        require_reason(&err);
    }
    close(pair[0]);
    close(pair[1]);
}

/* Frames that announce megabytes and then do not send them are taken one by one at the end of the stream, and cost nothing
 * but the fuzzer's time: allowed lengths are made short, forbidden ones are left. */
static void shorten(uint8_t *data, size_t size)
{
    static const uint32_t limits[2] = {WIRE_MAX_JSON, WIRE_MAX_BLOB};
    for (size_t at = 0, frame; size - at >= HEADER_BYTES; at += frame) {
        frame = HEADER_BYTES;
        for (size_t i = 0; i < 2; i++) {
            uint8_t *field = data + at + i * sizeof(uint32_t);
            uint32_t length;
            memcpy(&length, field, sizeof length);
            if (length <= limits[i])
                field[2] = field[3] = 0;
            frame += (size_t)field[0] | (size_t)field[1] << 8;
        }
        if (frame > size - at)
            return;
    }
}

/* Whether the first frame is whole and its JSON holds a NUL, which must be refused. */
static bool begins_with_nul(const uint8_t *data, size_t size)
{
    uint32_t length;
    if (size < HEADER_BYTES)
        return false;
    memcpy(&length, data, sizeof length);
    return length <= size - HEADER_BYTES && memchr(data + HEADER_BYTES, 0, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    unsigned fds = input_byte(&in);
    unsigned before = count_descriptors();
    int pair[2];
    if (in.left > MAX_STREAM)
        return 0;
    cleanup_free uint8_t *stream = malloc(in.left + 1);
    require(stream && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    memcpy(stream, in.at, in.left);
    shorten(stream, in.left);
    size_t first = in.left ? (fds >> 4) % in.left : 0;
    send_part(pair[0], stream, first, fds & 3 ? (fds & 3) - 1 : 0);
    send_part(pair[0], stream + first, in.left - first, fds >> 2 & 3 ? (fds >> 2 & 3) - 1 : 0);
    shutdown(pair[0], SHUT_WR);
    bool refuse = begins_with_nul(stream, in.left);
    for (int r = 0; r == 0; refuse = false) {
        cleanup_message struct wire_message message = {.fd = -1};
        kgrade_error err = {.code = ""};
        r = wire_receive(pair[1], &message, io_now() + WAIT_NS, &err);
        require(r >= 0 || (err.message[0] &&
                           (!strcmp(err.code, "wire_invalid") || !strcmp(err.code, "io_closed"))));
        require(r != 0 || (json_is_object(message.json) && !refuse));
        if (r == 0) {
            read_fields(&message);
            send_on(&message);
        }
    }
    close(pair[0]);
    close(pair[1]);
    require(count_descriptors() == before);
    return 0;
}
