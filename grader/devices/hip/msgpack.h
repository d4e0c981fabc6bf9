/*
 * Reading MessagePack, strictly: item by item, never past the end, never deeper than the caller allows.
 * Format: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef KGRADE_HIP_MSGPACK_H
#define KGRADE_HIP_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msgpack {
    const uint8_t *at, *end;
};

enum msgpack_kind {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_UNSIGNED, /* also a positive number in a signed format */
    MSGPACK_NEGATIVE,
    MSGPACK_FLOAT,
    MSGPACK_STRING,
    MSGPACK_BINARY, /* also the extension types */
    MSGPACK_ARRAY,  /* its elements follow */
    MSGPACK_MAP,    /* its keys and values follow in turn */
};

struct msgpack_item {
    enum msgpack_kind kind;
    uint64_t n;          /* the number; or bytes, elements, pairs */
    const uint8_t *data; /* of strings and binaries; points into what is read */
};

/* The next item without what follows it. false: broken; more elements than bytes are left counts as that. */
bool msgpack_next(struct msgpack *m, struct msgpack_item *ret);

/* Passes over one item with all that belongs to it. */
bool msgpack_skip(struct msgpack *m, unsigned max_depth);

bool msgpack_is(const struct msgpack_item *item, const char *text);

#endif
