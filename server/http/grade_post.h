/* POST /grade, and what a batch shares with it. */
#ifndef KGRADED_GRADE_POST_H
#define KGRADED_GRADE_POST_H

#include "body.h"
#include "request.h"

/* Seconds to wait for the result when `wait` does not say. */
#define GRADE_DEFAULT_WAIT_S 60
/* Seconds that the store is given to take a job before the client is told to come back. */
#define GRADE_STORE_S 10

/* The value of the Idempotency-Key header, NULL when there is none; at most `longest` bytes.  Error:
 * `invalid_idempotency_key`. */
int grade_key(const struct request *r, size_t longest, const char **ret, kgrade_error *err);

/* Reads and checks one request to grade.  Strings in *ret live as long as json. */
int grade_read(const struct request *r, json_t *json, struct body_grade *ret, kgrade_error *err);

/* Makes the job; key may be NULL. */
int grade_submit(const struct request *r, const struct body_grade *body, const char *key,
                 struct job **ret, kgrade_error *err);

/* The error of a job that the store has not taken in time. */
void grade_not_stored(kgrade_error *ret);

enum MHD_Result grade_post(struct request *r);

#endif
