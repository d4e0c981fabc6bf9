#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    atomic_uint most; /* enum log_level */
    bool journal;
} settings = {.most = LOG_LEVEL_INFO};

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    return names[level];
}

/* JOURNAL_STREAM is inherited by everything below a unit, so it counts only when stderr is that
 * very stream. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void log_set_level(enum log_level most)
{
    atomic_store_explicit(&settings.most, (unsigned)most, memory_order_relaxed);
}

void log_open(enum log_level most)
{
    log_set_level(most);
    settings.journal = stderr_is_journal();
}

static size_t put_prefix(char *line, size_t size, enum log_level level)
{
    static const int priorities[] = {3, 4, 6, 7};
    if (settings.journal)
        return (size_t)snprintf(line, size, "<%d>", priorities[level]);

    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &utc);
    return used + (size_t)snprintf(line + used, size - used, ".%03ldZ %s ", now.tv_nsec / 1000000,
                                   log_level_name(level));
}

void log_line(enum log_level level, const char *format, ...)
{
    if ((unsigned)level > atomic_load_explicit(&settings.most, memory_order_relaxed))
        return;
    char line[LOG_MAX_LINE];
    size_t room = sizeof line - 1; /* the last byte is for the line's end */
    size_t used = put_prefix(line, room, level);
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line + used, room - used, format, ap);
    va_end(ap);
    if (n > 0)
        used = (size_t)n < room - used ? used + (size_t)n : room - 1;
    line[used++] = '\n';
    while (write(STDERR_FILENO, line, used) < 0 && errno == EINTR)
        ;
}

const char *log_field(char *buffer, size_t size, const char *text)
{
    size_t used = 0;
    for (const char *p = text && *text ? text : "-"; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain = c > ' ' && c < 0x7f && c != '"' && c != '\\';
        size_t need = plain ? 1 : 4;
        if (used + need >= size)
            break;
        if (plain)
            buffer[used++] = (char)c;
        else
            used += (size_t)snprintf(buffer + used, size - used, "\\x%02x", c);
    }
    buffer[used] = 0;
    return buffer;
}
