/*
 * Messages between the grader and its workers: a JSON object, optionally followed by a blob and one descriptor.
 *
 * Frame: u32 JSON length, u32 blob length (little endian), JSON text, blob.  A descriptor rides on the first byte.
 * Whatever comes from a worker is untrusted: lengths are bounded before memory is taken.
 */
#ifndef KGRADE_WIRE_H
#define KGRADE_WIRE_H

#include <jansson.h>

#include "../sandbox/base/io.h"

#define WIRE_MAX_JSON (4u << 20) /* which takes up to a hundred times as much once it is parsed */
#define WIRE_MAX_BLOB (512u << 20)

struct wire_message {
    json_t *json;      /* an object */
    struct bytes blob; /* may be empty */
    int fd;            /* -1: none */
};

void wire_message_free(struct wire_message *message);
#define cleanup_message __attribute__((cleanup(wire_message_free)))

/* Steals the reference to json, also on failure.  fd -1: none; the descriptor is duplicated, not taken. */
int wire_send(int socket, json_t *json, const void *blob, size_t blob_size, int fd,
              uint64_t deadline, kgrade_error *err);

/* Returns 0; 1 when the other end closed between messages; -1 with `io_*` or `wire_invalid`. */
int wire_receive(int socket, struct wire_message *ret, uint64_t deadline, kgrade_error *err);

/* A 64-bit value as hexadecimal text: JSON integers are signed. */
json_t *wire_u64_json(uint64_t value);
uint64_t wire_u64(const json_t *object, const char *key);

/* null for what is not finite, of which JSON has no notion. */
json_t *wire_number_json(double value);

/* The case that a message names in "dims"; n_dims integers.  -1 with `wire_invalid`. */
int wire_dims(const json_t *object, size_t n_dims, int64_t *ret, kgrade_error *err);
json_t *wire_dims_json(const int64_t *dims, size_t n_dims);

/* What the case's inputs are drawn from, "values"; 0 when absent, SIZE_MAX when negative. */
size_t wire_values(const json_t *object);

#endif
