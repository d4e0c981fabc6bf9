/* What clients send: strict JSON with limits. */
#ifndef KGRADED_BODY_H
#define KGRADED_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "kgrade/kgrade.h"

/* Objects and arrays inside each other. */
#define BODY_MAX_DEPTH 32
/* Grades in one batch. */
#define BODY_MAX_BATCH 64
/* Seconds from a request to the end of its grade that may be asked for. */
#define BODY_MAX_DEADLINE_S 86400

/* Parses a whole body.  Returns a new reference, or NULL with `malformed_json`, `duplicate_key`,
 * `json_too_deep`, `not_utf8` or `nul_in_string`. */
json_t *body_parse(const char *text, size_t size, kgrade_error *err);

/* One request to grade. */
struct body_grade {
    kgrade_request grade;
    bool reuse;        /* an earlier grade of the same will do */
    double deadline_s; /* from now to its end; 0: none */
};

/* Reads the fields of POST /grade.  Strings in *ret live as long as root.  Errors: `unknown_field`,
 * `missing_field`, `wrong_type`, `out_of_range`. */
int body_grade(json_t *root, struct body_grade *ret, kgrade_error *err);

/* Reads the fields of POST /grades.  *ret_grades belongs to root.  Errors as body_grade. */
int body_batch(json_t *root, json_t **ret_grades, kgrade_error *err);

#endif
