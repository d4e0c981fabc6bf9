#define _GNU_SOURCE
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"

#define LINE_HINT "A line is `name = value`, or a comment that begins with #."

static int invalid(const char *path, unsigned line, const kgrade_error *why, kgrade_error *err)
{
    return fail(err, "config_invalid", why->hint, "%.300s:%u: %.600s", path, line, why->message);
}

/* At most CONFIG_MAX_BYTES, of anything that can be read without waiting. */
static int slurp(const char *path, char *buffer, size_t *ret_size, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return 1;
    if (fd < 0)
        return fail_errno(err, "config_unreadable", "Make it readable for the user of kgraded.",
                          "Cannot open %.300s", path);
    size_t used = 0;
    for (;;) {
        ssize_t n = read(fd, buffer + used, CONFIG_MAX_BYTES + 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "config_unreadable", NULL, "Cannot read %.300s", path);
        used += (size_t)n;
        if (used > CONFIG_MAX_BYTES)
            return fail(err, "config_unreadable", NULL, "%.300s is larger than %u bytes.", path,
                        CONFIG_MAX_BYTES);
        if (!n)
            break;
    }
    *ret_size = used;
    return 0;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = 0;
    return text;
}

static int read_line(char *text, unsigned line, config_setting each, void *data, kgrade_error *err)
{
    char *name = trimmed(text);
    if (!*name || *name == '#')
        return 0;
    char *equals = strchr(name, '=');
    if (!equals || equals == name)
        return fail(err, "config_invalid", LINE_HINT, "'%.100s' is not a setting.", name);
    *equals = 0;
    return each(data, trimmed(name), trimmed(equals + 1), line, err);
}

int config_read(const char *path, config_setting each, void *data, kgrade_error *err)
{
    cleanup_free char *buffer = malloc(CONFIG_MAX_BYTES + 2);
    size_t size = 0;
    if (!buffer)
        return fail(err, "out_of_memory", NULL, "There is no memory to read %.300s.", path);
    int r = slurp(path, buffer, &size, err);
    if (r)
        return r;
    buffer[size] = 0;

    kgrade_error why;
    unsigned line = 1;
    for (char *at = buffer; at < buffer + size; line++) {
        char *end = memchr(at, '\n', (size_t)(buffer + size - at));
        if (!end)
            end = buffer + size;
        *end = 0;
        if (strlen(at) != (size_t)(end - at)) {
            fail(&why, "config_invalid", LINE_HINT, "the line holds a NUL byte.");
            return invalid(path, line, &why, err);
        }
        if (read_line(at, line, each, data, &why))
            return invalid(path, line, &why, err);
        at = end + 1;
    }
    return 0;
}
