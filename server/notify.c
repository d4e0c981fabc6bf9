#define _GNU_SOURCE
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/io.h"
#include "log.h"

#define STATUS_SIZE 256
#define STATUS_NS IO_NS_PER_S

static struct {
    struct sockaddr_un address;
    socklen_t size;       /* of the address; 0: there is no manager */
    uint64_t interval_ns; /* of the watchdog; 0: there is none */
    uint64_t due;         /* when it is to be fed */
    char status[STATUS_SIZE];
    uint64_t status_at;
} manager;

static void open_watchdog(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *usec = getenv("WATCHDOG_USEC");
    char *end = NULL;
    if (!usec || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
        return;
    errno = 0;
    unsigned long long period = strtoull(usec, &end, 10);
    if (!*usec || *end || errno || !period || period > UINT64_MAX / 1000) {
        log_line(LOG_LEVEL_WARNING, "WATCHDOG_USEC is not a number of microseconds");
        return;
    }
    manager.interval_ns = period * 1000 / 2;
    manager.due = io_now();
}

void notify_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (!length)
        return;
    if ((path[0] != '/' && path[0] != '@') || length >= sizeof manager.address.sun_path) {
        log_line(LOG_LEVEL_WARNING,
                 "NOTIFY_SOCKET is neither an absolute path nor an abstract name");
        return;
    }
    manager.address.sun_family = AF_UNIX;
    memcpy(manager.address.sun_path, path, length);
    if (path[0] == '@')
        manager.address.sun_path[0] = 0;
    manager.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    open_watchdog();
}

static void send_state(const char *state)
{
    if (!manager.size)
        return;
    cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                         (const struct sockaddr *)&manager.address, manager.size) < 0)
        log_line(LOG_LEVEL_WARNING, "could not notify the service manager: %s", strerror(errno));
}

void notify_ready(void)
{
    send_state("READY=1");
}

void notify_reloading(void)
{
    char state[64];
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(io_now() / 1000));
    send_state(state);
}

void notify_stopping(void)
{
    send_state("STOPPING=1");
}

void notify_status(const char *format, ...)
{
    char status[STATUS_SIZE], state[STATUS_SIZE + 8];
    va_list ap;
    uint64_t now = io_now();
    if (!manager.size || (manager.status_at && now - manager.status_at < STATUS_NS))
        return;
    va_start(ap, format);
    vsnprintf(status, sizeof status, format, ap);
    va_end(ap);
    if (!strcmp(status, manager.status))
        return;
    strcpy(manager.status, status);
    manager.status_at = now;
    snprintf(state, sizeof state, "STATUS=%s", status);
    send_state(state);
}

uint64_t notify_watchdog(bool alive)
{
    uint64_t now = io_now();
    if (!manager.interval_ns)
        return IO_NO_DEADLINE;
    if (now < manager.due)
        return manager.due;
    if (alive)
        send_state("WATCHDOG=1");
    manager.due = now + manager.interval_ns;
    return manager.due;
}
