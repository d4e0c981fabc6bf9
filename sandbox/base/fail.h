/* Making errors: the helpers behind kgrade_error. */
#ifndef KGRADE_FAIL_H
#define KGRADE_FAIL_H

#include "error.h"

/* Sets code, hint and the formatted message; always returns -1 so that callers can `return fail(...)`.
 * hint may be NULL. */
int fail(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a failed system call: appends ": " and strerror(errno). */
int fail_errno(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
