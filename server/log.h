/*
 * The log: one line per event, on stderr.  Each line is one write, so lines of several threads do
 * not mix. Under the systemd journal lines carry a priority prefix and no time, which the journal
 * has; elsewhere they start with the time in UTC.
 */
#ifndef KGRADED_LOG_H
#define KGRADED_LOG_H

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* "error", "warning", "info" or "debug". */
const char *log_level_name(enum log_level level);

/* Sets what is written; call it before any thread starts. */
void log_open(enum log_level most);
/* Changes it, at any time. */
void log_set_level(enum log_level most);

/* Longer lines are cut at LOG_MAX_LINE bytes. */
#define LOG_MAX_LINE 2048
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes text of a stranger fit for one field of a line: printable ASCII without spaces, quotes and
 * backslashes stays, other bytes become \xNN; what does not fit in size is cut.  Returns buffer;
 * "-" for NULL or empty text. */
const char *log_field(char *buffer, size_t size, const char *text);

#endif
