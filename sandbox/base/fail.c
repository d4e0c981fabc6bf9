#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void
set(kgrade_error *err, const char *code, const char *hint, const char *format, va_list ap)
{
    if (!err)
        return;
    snprintf(err->code, sizeof err->code, "%s", code);
    snprintf(err->hint, sizeof err->hint, "%s", hint ? hint : "");
    vsnprintf(err->message, sizeof err->message, format, ap);
}

void fail_set(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(err, code, hint, format, ap);
    va_end(ap);
}

void fail_set_errno(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
{
    int saved = errno;
    va_list ap;
    va_start(ap, format);
    set(err, code, hint, format, ap);
    va_end(ap);
    if (err) {
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(saved));
    }
    errno = saved;
}
