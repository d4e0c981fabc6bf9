#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"

#define HEADER_BYTES 8

void wire_message_free(struct wire_message *message)
{
    json_decref(message->json);
    message->json = NULL;
    bytes_free(&message->blob);
    if (message->fd >= 0)
        close(message->fd);
    message->fd = -1;
}

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

/* The first byte of a frame with a descriptor travels alone, so that the descriptor belongs to a known place in the stream. */
static int send_first(int socket, uint8_t byte, int fd, uint64_t deadline, kgrade_error *err)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    for (;;) {
        struct pollfd p = {.fd = socket, .events = POLLOUT};
        if (poll(&p, 1, io_poll_timeout(deadline)) == 0)
            return fail(err, "io_timeout", NULL,
                        "The other process did not take a descriptor in time.");
        ssize_t k = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k == 1)
            return 0;
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return fail_errno(err, errno == EPIPE ? "io_closed" : "io_failed", NULL,
                              "Handing over a descriptor failed");
    }
}

int wire_send(int socket, json_t *json, const void *blob, size_t blob_size, int fd,
              uint64_t deadline, kgrade_error *err)
{
    cleanup_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return fail(err, "out_of_memory", NULL, "A message could not be written as JSON.");
    size_t length = strlen(text);
    if (length > WIRE_MAX_JSON || blob_size > WIRE_MAX_BLOB)
        return fail(err, "wire_invalid", NULL,
                    "A message of %zu + %zu bytes is larger than allowed.", length, blob_size);
    cleanup_free uint8_t *frame = malloc(HEADER_BYTES + length);
    if (!frame)
        return fail(err, "out_of_memory", NULL, "No memory for a message of %zu bytes.", length);
    put_u32(frame, (uint32_t)length);
    put_u32(frame + 4, (uint32_t)blob_size);
    memcpy(frame + HEADER_BYTES, text, length);
    size_t sent = fd >= 0;
    if ((sent && send_first(socket, frame[0], fd, deadline, err)) ||
        io_write_full(socket, frame + sent, HEADER_BYTES + length - sent, deadline, err))
        return -1;
    return blob_size ? io_write_full(socket, blob, blob_size, deadline, err) : 0;
}

/* Keeps the first descriptor.  Padding leaves room for more than one, and what there is no room for, the kernel closes. */
static void take_descriptor(struct msghdr *message, int *ret_fd)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= h->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (const uint8_t *)h + at, sizeof fd);
            if (*ret_fd < 0)
                *ret_fd = fd;
            else
                close(fd);
        }
    }
}

static int receive_first(int socket, uint8_t *ret, int *ret_fd, uint64_t deadline,
                         kgrade_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = socket, .events = POLLIN};
        int ready = poll(&p, 1, io_poll_timeout(deadline));
        if (ready == 0)
            return fail(err, "io_timeout", NULL, "The other process did not answer in time.");
        union {
            char bytes[CMSG_SPACE(sizeof(int))];
            struct cmsghdr align;
        } control;
        struct iovec part = {ret, 1};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t k = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (k < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (k == 0 || (k < 0 && errno == ECONNRESET))
            return 1;
        if (k < 0)
            return fail_errno(err, "io_failed", NULL, "Reading from another process failed");
        take_descriptor(&message, ret_fd);
        return 0;
    }
}

/* Reads what must follow: the end of the stream here is an error. */
static int receive_rest(int socket, void *to, size_t n, uint64_t deadline, kgrade_error *err)
{
    int r = n ? io_read_full(socket, to, n, deadline, err) : 0;
    if (r > 0)
        return fail(err, "io_closed", NULL, "The other process closed in the middle of a message.");
    return r;
}

int wire_receive(int socket, struct wire_message *ret, uint64_t deadline, kgrade_error *err)
{
    cleanup_message struct wire_message message = {.fd = -1};
    uint8_t header[HEADER_BYTES];
    int r = receive_first(socket, header, &message.fd, deadline, err);
    if (r)
        return r;
    if (receive_rest(socket, header + 1, sizeof header - 1, deadline, err))
        return -1;
    uint32_t length = get_u32(header), blob_size = get_u32(header + 4);
    if (length > WIRE_MAX_JSON || blob_size > WIRE_MAX_BLOB)
        return fail(err, "wire_invalid", NULL,
                    "A message announces %u + %u bytes, more than allowed.", length, blob_size);
    cleanup_free char *text = malloc((size_t)length + 1);
    if (blob_size)
        message.blob.data = malloc(blob_size);
    if (!text || (blob_size && !message.blob.data))
        return fail(err, "out_of_memory", NULL, "No memory for a message of %u + %u bytes.", length,
                    blob_size);
    message.blob.size = blob_size;
    if (receive_rest(socket, text, length, deadline, err) ||
        receive_rest(socket, message.blob.data, blob_size, deadline, err))
        return -1;
    if (memchr(text, 0, length)) /* which jansson overlooks behind a number */
        return fail(err, "wire_invalid", NULL, "A message holds a NUL byte.");
    json_error_t at;
    message.json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(message.json))
        return fail(err, "wire_invalid", NULL, "A message is not a JSON object: %s", at.text);
    *ret = message;
    message = (struct wire_message){.fd = -1};
    return 0;
}

json_t *wire_number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *wire_u64_json(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

uint64_t wire_u64(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strtoull(text, NULL, 16) : 0;
}

int wire_dims(const json_t *object, size_t n_dims, int64_t *ret, kgrade_error *err)
{
    const json_t *dims = json_object_get(object, "dims");
    if (json_array_size(dims) != n_dims)
        return fail(err, "wire_invalid", NULL, "A request has %zu dims where the task has %zu.",
                    json_array_size(dims), n_dims);
    for (size_t i = 0; i < n_dims; i++)
        ret[i] = json_integer_value(json_array_get(dims, i));
    return 0;
}

size_t wire_values(const json_t *object)
{
    json_int_t values = json_integer_value(json_object_get(object, "values"));
    return values < 0 ? SIZE_MAX : (size_t)values;
}

json_t *wire_dims_json(const int64_t *dims, size_t n_dims)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n_dims; i++)
        json_array_append_new(array, json_integer(dims[i]));
    return array;
}
