/* Making errors: the helpers behind kgrade_error. */
#ifndef KGRADE_FAIL_H
#define KGRADE_FAIL_H

#include <stdarg.h>

#include "error.h"

/* Sets code, hint and the formatted message; hint may be NULL. */
void fail_set(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void fail_set_v(kgrade_error *err, const char *code, const char *hint, const char *format,
                va_list ap) __attribute__((format(printf, 4, 0)));

/* The same for a failed system call: appends ": " and strerror(errno). */
void fail_set_errno(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline int fail_value(void)
{
    return -1;
}

/* For `return fail(err, code, hint, format, ...)`: macros, so that the compiler sees the -1. */
#define fail(...) (fail_set(__VA_ARGS__), fail_value())
#define fail_errno(...) (fail_set_errno(__VA_ARGS__), fail_value())

#endif
