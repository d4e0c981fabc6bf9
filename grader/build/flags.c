#define _GNU_SOURCE
#include "flags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../quote.h"

/* '#' stands for one to four digits, '@' for NAME or NAME=VALUE of letters, digits and underlines. */
static bool matches(const char *pattern, const char *flag)
{
    for (; *pattern; pattern++) {
        size_t n = 0;
        if (*pattern == '#') {
            n = strspn(flag, "0123456789");
            if (n < 1 || n > 4)
                return false;
        } else if (*pattern == '@') {
            while (isalnum((unsigned char)flag[n]) || flag[n] == '_' || (n && flag[n] == '='))
                n++;
            if (!n || isdigit((unsigned char)flag[0]))
                return false;
        } else if (*pattern == *flag) {
            n = 1;
        } else {
            return false;
        }
        flag += n;
    }
    return !*flag;
}

static bool is_allowed(const struct device_language *language, const char *flag)
{
    for (size_t i = 0; language->flags && language->flags[i]; i++)
        if (matches(language->flags[i], flag))
            return true;
    return false;
}

static int refuse(const struct device_language *language, const char *flag, kgrade_error *err)
{
    char hint[sizeof err->hint] = "Allowed are:";
    for (size_t i = 0; language->flags && language->flags[i]; i++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, " %s", language->flags[i]);
    }
    return fail(err, "flag_not_allowed", hint, "The compiler is not given the flag \"%s\".",
                quote(flag).text);
}

static int add_flag(const struct device_language *language, const char *text, size_t length,
                    struct flags *ret, kgrade_error *err)
{
    char flag[FLAGS_MAX_BYTES + 2];
    snprintf(flag, sizeof flag, "%.*s", length < sizeof flag ? (int)length : (int)sizeof flag - 1,
             text);
    if (length > FLAGS_MAX_BYTES || !is_allowed(language, flag))
        return refuse(language, flag, err);
    if (ret->n == FLAGS_MAX)
        return fail(err, "flag_not_allowed", NULL, "At most %u flags are taken.", FLAGS_MAX);
    strcpy(ret->list[ret->n++], flag);
    return 0;
}

/* The rest of a line, from behind the colon. */
static int read_line(const struct device_language *language, const char *at, const char *end,
                     struct flags *ret, kgrade_error *err)
{
    while (at < end) {
        if (*at == ' ' || *at == '\t' || *at == '\r') {
            at++;
            continue;
        }
        const char *start = at;
        while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
            at++;
        if (add_flag(language, start, (size_t)(at - start), ret, err))
            return -1;
    }
    return 0;
}

static int read_file(const struct device_language *language, const struct bundle_file *file,
                     struct flags *ret, kgrade_error *err)
{
    const char *end = file->text + file->size, *next;
    for (const char *line = file->text; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        next = newline ? newline + 1 : end;
        size_t length = (size_t)((newline ? newline : end) - line);
        if (length >= strlen(FLAGS_LINE) && !memcmp(line, FLAGS_LINE, strlen(FLAGS_LINE)) &&
            read_line(language, line + strlen(FLAGS_LINE), line + length, ret, err))
            return -1;
    }
    return 0;
}

int flags_read(const struct device_language *language, const struct bundle *bundle,
               struct flags *ret, kgrade_error *err)
{
    ret->n = 0;
    for (size_t i = 0; i < bundle->n; i++)
        if (bundle_is_source(language, &bundle->files[i]) &&
            read_file(language, &bundle->files[i], ret, err))
            return -1;
    return 0;
}
