#define _GNU_SOURCE
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "fail.h"

void bytes_free(struct bytes *b)
{
    free(b->data);
    b->data = NULL;
    b->size = 0;
}

uint64_t io_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * IO_NS_PER_S + (uint64_t)t.tv_nsec;
}

int64_t io_unix_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int io_poll_timeout(uint64_t deadline)
{
    if (deadline == IO_NO_DEADLINE)
        return -1;
    uint64_t now = io_now();
    if (now >= deadline)
        return 0;
    uint64_t ms = (deadline - now + IO_NS_PER_MS - 1) / IO_NS_PER_MS;
    return ms > 86400000 ? 86400000 : (int)ms;
}

static int wait_for(int fd, short events, uint64_t deadline, kgrade_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int r = poll(&p, 1, io_poll_timeout(deadline));
        if (r > 0)
            return 0;
        if (r < 0 && errno != EINTR)
            return fail_errno(err, "io_failed", NULL, "Waiting on a descriptor failed");
        if (io_now() >= deadline)
            return fail(err, "io_timeout", NULL, "The other process did not answer in time.");
    }
}

bool io_await_awake(int fd, uint64_t ns)
{
    uint64_t end = io_now() + ns;
    do {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 0) > 0)
            return true;
    } while (io_now() < end);
    return false;
}

int io_read_full(int fd, void *buffer, size_t n, uint64_t deadline, kgrade_error *err)
{
    size_t done = 0;
    while (done < n) {
        if (wait_for(fd, POLLIN, deadline, err))
            return -1;
        ssize_t k = read(fd, (char *)buffer + done, n - done);
        if (k > 0) {
            done += (size_t)k;
            continue;
        }
        if (k == 0 || errno == ECONNRESET) {
            if (done == 0)
                return 1;
            return fail(err, "io_closed", NULL,
                        "The other process closed in the middle of a message.");
        }
        if (errno != EINTR && errno != EAGAIN)
            return fail_errno(err, "io_failed", NULL, "Reading from another process failed");
    }
    return 0;
}

int io_write_full(int fd, const void *buffer, size_t n, uint64_t deadline, kgrade_error *err)
{
    size_t done = 0;
    bool is_socket = true;
    while (done < n) {
        if (wait_for(fd, POLLOUT, deadline, err))
            return -1;
        const char *from = (const char *)buffer + done;
        ssize_t k = is_socket ? send(fd, from, n - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : write(fd, from, n - done);
        if (k >= 0) {
            done += (size_t)k;
            continue;
        }
        if (errno == ENOTSOCK && is_socket) {
            is_socket = false;
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET)
            return fail(err, "io_closed", NULL, "The other process is gone.");
        if (errno != EINTR && errno != EAGAIN)
            return fail_errno(err, "io_failed", NULL, "Writing to another process failed");
    }
    return 0;
}

int io_read_file(const char *path, size_t limit, struct bytes *ret, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(err, "file_unreadable", NULL, "Cannot open %s", path);
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return fail(err, "file_unreadable", NULL, "%s is not a regular file.", path);
    if ((uint64_t)st.st_size > limit)
        return fail(err, "file_too_large", NULL, "%s has %lld bytes; at most %zu are read.", path,
                    (long long)st.st_size, limit);
    size_t size = (size_t)st.st_size;
    cleanup_free uint8_t *data = malloc(size + 1);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for %zu bytes of %s.", size, path);
    size_t done = 0;
    while (done < size) {
        ssize_t k = read(fd, data + done, size - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
        if (k == 0)
            break;
        done += (size_t)k;
    }
    data[done] = 0;
    ret->data = steal_pointer(&data);
    ret->size = done;
    return 0;
}

int io_write_file(const char *path, const void *data, size_t size, kgrade_error *err)
{
    cleanup_free char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
        temporary = NULL;
        return fail(err, "out_of_memory", NULL, "No memory to write %s.", path);
    }
    cleanup_close int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "file_unwritable", NULL, "Cannot create a file beside %s", path);
    size_t done = 0;
    while (done < size) {
        ssize_t k = write(fd, (const char *)data + done, size - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            fail_errno(err, "file_unwritable", NULL, "Cannot write %s", path);
            unlink(temporary);
            return -1;
        }
        done += (size_t)k;
    }
    if (fchmod(fd, 0644) || rename(temporary, path)) {
        fail_errno(err, "file_unwritable", NULL, "Cannot write %s", path);
        unlink(temporary);
        return -1;
    }
    return 0;
}

int io_make_dirs(const char *path, kgrade_error *err)
{
    cleanup_free char *copy = strdup(path);
    if (!copy)
        return fail(err, "out_of_memory", NULL, "No memory to make %s.", path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != 0)
            continue;
        char saved = *p;
        *p = 0;
        if (mkdir(copy, 0700) && errno != EEXIST)
            return fail_errno(err, "file_unwritable", NULL, "Cannot make the folder %s", copy);
        *p = saved;
        if (!saved)
            return 0;
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

int io_remove_tree(const char *path, kgrade_error *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
        return fail_errno(err, "file_unwritable", NULL, "Cannot remove %s", path);
    return 0;
}

void io_random(void *buffer, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = getrandom((char *)buffer + done, n - done, 0);
        if (k < 0 && errno != EINTR)
            abort();
        if (k > 0)
            done += (size_t)k;
    }
}

uint64_t io_random_u64(void)
{
    uint64_t value;
    io_random(&value, sizeof value);
    return value;
}
