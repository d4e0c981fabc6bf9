#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that was cut ends with a whole character: what is not UTF-8 cannot be told as JSON. */
static void end_cleanly(char *text, size_t room, int wanted)
{
    if (wanted < (int)room)
        return;
    size_t end = room - 1, begin = end;
    while (begin > 0 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
        begin--; /* bytes that continue a character */
    unsigned char first = begin > 0 ? (unsigned char)text[begin - 1] : 0;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (length > 1 && end - (begin - 1) < length)
        text[begin - 1] = 0;
}

void fail_set_v(kgrade_error *err, const char *code, const char *hint, const char *format,
                va_list ap)
{
    if (!err)
        return;
    snprintf(err->code, sizeof err->code, "%s", code);
    end_cleanly(err->hint, sizeof err->hint,
                snprintf(err->hint, sizeof err->hint, "%s", hint ? hint : ""));
    end_cleanly(err->message, sizeof err->message,
                vsnprintf(err->message, sizeof err->message, format, ap));
}

void fail_set(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fail_set_v(err, code, hint, format, ap);
    va_end(ap);
}

void fail_set_errno(kgrade_error *err, const char *code, const char *hint, const char *format, ...)
{
    int saved = errno;
    va_list ap;
    va_start(ap, format);
    fail_set_v(err, code, hint, format, ap);
    va_end(ap);
    if (err) {
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(saved));
    }
    errno = saved;
}
