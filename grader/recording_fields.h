/*
 * Members of a recording's manifest, which is hostile input: each is taken with its type and its bounds, or refused.
 *
 * All return -1 with `recording_invalid`, which names the place.
 */
#ifndef KGRADE_RECORDING_FIELDS_H
#define KGRADE_RECORDING_FIELDS_H

#include <jansson.h>
#include <stdint.h>

#include "../sandbox/base/fail.h"

struct fields {
    const char *where; /* "calls[3].nodes[7]" and the like */
    kgrade_error *err;
};

void fields_complain(struct fields *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For `return fields_bad(f, format, ...)`. */
#define fields_bad(...) (fields_complain(__VA_ARGS__), fail_value())

/* An object with exactly n keys. */
int fields_object(struct fields *f, json_t *json, size_t n);

/* From 0 to max.  key NULL: json itself, an element of a list. */
int fields_integer(struct fields *f, json_t *json, const char *key, uint64_t max, uint64_t *ret);
int fields_u32(struct fields *f, json_t *json, const char *key, uint32_t max, uint32_t *ret);
/* An index below n. */
int fields_index_of(struct fields *f, json_t *json, const char *key, size_t n, size_t *ret);

/* Of at most max bytes; *ret belongs to json. */
int fields_string(struct fields *f, json_t *json, const char *key, size_t max, const char **ret);
/* Of at most max elements; *ret belongs to json. */
int fields_array(struct fields *f, json_t *json, const char *key, size_t max, json_t **ret);
/* Two digits a byte, at most max bytes. */
int fields_hex(struct fields *f, json_t *json, const char *key, size_t max, uint8_t *to,
               uint32_t *ret_size);
/* A list of three integers from 0 to max. */
int fields_three(struct fields *f, json_t *json, const char *key, uint64_t max, uint64_t ret[3]);

#endif
