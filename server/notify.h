/*
 * Telling the service manager: systemd's notification protocol, one datagram a time.
 *
 * Without $NOTIFY_SOCKET everything here does nothing.  A failure is logged, since the manager's own
 * timeout is the judge of it.  For the main thread.
 */
#ifndef KGRADED_NOTIFY_H
#define KGRADED_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Reads $NOTIFY_SOCKET, and $WATCHDOG_USEC when $WATCHDOG_PID is this process or not given. */
void notify_open(void);

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* What `systemctl status` shows.  Sent when it differs from what was sent before, at most once a
 * second. */
void notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Feeds the watchdog when it is due and the work goes on, `alive`.  Returns when to call again,
 * CLOCK_MONOTONIC ns; IO_NO_DEADLINE without a watchdog. */
uint64_t notify_watchdog(bool alive);

#endif
