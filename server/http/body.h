/* What clients send: strict JSON with limits. */
#ifndef KGRADED_BODY_H
#define KGRADED_BODY_H

#include <jansson.h>
#include <stddef.h>

#include "kgrade/kgrade.h"

/* Objects and arrays inside each other. */
#define BODY_MAX_DEPTH 32

/* Parses a whole body.  Returns a new reference, or NULL with `malformed_json`, `duplicate_key`,
 * `json_too_deep`, `not_utf8` or `nul_in_string`. */
json_t *body_parse(const char *text, size_t size, kgrade_error *err);

/* Reads the fields of POST /grade.  Strings in *ret live as long as root.  Errors: `unknown_field`,
 * `missing_field`, `wrong_type`. */
int body_grade_request(json_t *root, kgrade_request *ret, kgrade_error *err);

#endif
