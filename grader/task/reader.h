/*
 * Reading JSON strictly: every complaint names the file and the JSON path, and nothing is accepted
 * by accident. For the task loader alone.
 */
#ifndef KGRADE_READER_H
#define KGRADE_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"

struct reader {
    const char *origin; /* names the file */
    kgrade_error *err;
    char path[256]; /* "$.parameters[2].shape[0]" */
};

/* Goes one level down; returns what reader_leave needs to come back. */
size_t reader_key(struct reader *r, const char *key);
size_t reader_index(struct reader *r, size_t index);
void reader_leave(struct reader *r, size_t back);

/* `task_invalid` at the present path; always -1. */
int reader_complain(struct reader *r, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a value that is not an object, or has a key that is not in the NULL-terminated list. */
int reader_check_keys(struct reader *r, const json_t *object, const char *const *keys);

/* Members of an object.  Each complains when the key is missing, or the value is of another type or
 * outside the bounds.  The path is back where it was after success.  JSON values are borrowed; NULL
 * after a complaint. */
const json_t *reader_member(struct reader *r, const json_t *object, const char *key);
int reader_string(struct reader *r, const json_t *object, const char *key, size_t max_length,
                  const char **ret);
int reader_integer(struct reader *r, const json_t *object, const char *key, int64_t low,
                   int64_t high, int64_t *ret);
int reader_number(struct reader *r, const json_t *object, const char *key, double low, double high,
                  double *ret);
const json_t *reader_array(struct reader *r, const json_t *object, const char *key, size_t low,
                           size_t high);

/* The value at the present path as an integer in low..high. */
int reader_as_integer(struct reader *r, const json_t *value, int64_t low, int64_t high,
                      int64_t *ret);

#endif
