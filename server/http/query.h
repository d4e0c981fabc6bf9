/* The query of a request: what stands behind the "?". */
#ifndef KGRADED_QUERY_H
#define KGRADED_QUERY_H

#include "request.h"

/* Whether each parameter is one that the route takes, once.  Errors: `unknown_parameter`,
 * `invalid_parameter`. */
int query_check(const struct request *r, kgrade_error *err);

/* NULL when it is not there. */
const char *query_text(const struct request *r, const char *name);

/* A decimal number from least to most, or preset when it is not there.  Error: `invalid_parameter`. */
int query_number(const struct request *r, const char *name, double least, double most,
                 double preset, double *ret, kgrade_error *err);

/* The same for a whole number. */
int query_count(const struct request *r, const char *name, unsigned least, unsigned most,
                unsigned preset, unsigned *ret, kgrade_error *err);

/* Seconds to wait, from `wait`, as a time on CLOCK_MONOTONIC in ns. */
int query_wait(const struct request *r, unsigned preset_s, uint64_t *ret_until, kgrade_error *err);

#endif
