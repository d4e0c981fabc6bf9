/*
 * Reading and writing with deadlines and limits.  Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef KGRADE_IO_H
#define KGRADE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define IO_NO_DEADLINE UINT64_MAX
#define IO_NS_PER_S 1000000000ull
#define IO_NS_PER_MS 1000000ull

/* A block of memory with its length.  Owned by whoever holds the struct; release with bytes_free. */
struct bytes {
    uint8_t *data;
    size_t size;
};

void bytes_free(struct bytes *b);
#define cleanup_bytes __attribute__((cleanup(bytes_free)))

/* Now, in ns. */
uint64_t io_now(void);

/* The time of day: Unix time in ms, which an operator may set back. */
int64_t io_unix_ms(void);

/* Milliseconds left until deadline, as poll(2) wants them: rounded up, 0 when past, -1 for never. */
int io_poll_timeout(uint64_t deadline);

/* Whether fd can be read within so many ns.  Does not sleep: waking up takes a processor tens of microseconds. */
bool io_await_awake(int fd, uint64_t ns);

/* Reads exactly n bytes.  Returns 0; 1 if the other end closed before the first byte; -1 with code
 * `io_timeout`, `io_closed` (closed in the middle) or `io_failed`. */
int io_read_full(int fd, void *buffer, size_t n, uint64_t deadline, kgrade_error *err);

/* Writes exactly n bytes; never raises SIGPIPE on a socket.  -1 with the same codes. */
int io_write_full(int fd, const void *buffer, size_t n, uint64_t deadline, kgrade_error *err);

/* Reads a whole regular file of at most `limit` bytes.  The data is followed by a NUL that is not
 * counted.  -1 with `file_unreadable` or `file_too_large`. */
int io_read_file(const char *path, size_t limit, struct bytes *ret, kgrade_error *err);

/* Writes a whole file through a temporary name and rename(2), so that a reader sees all or nothing. */
int io_write_file(const char *path, const void *data, size_t size, kgrade_error *err);

/* mkdir -p with mode 0700 for folders that are made. */
int io_make_dirs(const char *path, kgrade_error *err);

/* Removes a folder and everything below it; never follows symbolic links. */
int io_remove_tree(const char *path, kgrade_error *err);

/* Fills with random bytes from the kernel; aborts the process if the kernel has none. */
void io_random(void *buffer, size_t n);
uint64_t io_random_u64(void);

#endif
