/*
 * Errors as HTTP answers: RFC 9457 problem details.
 *
 *     {"type": "urn:kgrade:problem:unknown_task", "title": "No such task", "status": 404,
 *      "detail": "There is no task 'softmx'.", "code": "unknown_task", "hint": "..."}
 *
 * The code is that of the kgrade_error, unchanged; it alone decides on type, title and status.
 */
#ifndef KGRADED_PROBLEM_H
#define KGRADED_PROBLEM_H

#include <jansson.h>

#include "../../sandbox/base/error.h"

#define PROBLEM_CONTENT_TYPE "application/problem+json"

/* The status of a code: 500 for one that is not known to be the client's doing or a passing state.
 */
unsigned problem_status(const char *code);

/* The document, a new reference; NULL without memory. */
json_t *problem_object(const kgrade_error *problem);

/* The body of the answer, to be freed; NULL without memory. */
char *problem_json(const kgrade_error *problem);

/* The reason phrase of a status that problem_status returns. */
const char *problem_reason(unsigned status);

#endif
