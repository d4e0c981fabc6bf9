/*
 * How an arena travels between processes.  A descriptor of device memory does not tell its size.  What is handed on
 * as "the arena" is therefore a socket in which one message waits: the sizes, and the descriptor of the memory riding on
 * it.  Readers look at the message without taking it, so that the same descriptor serves every process it is given to.
 */
#ifndef KGRADE_CUDA_PARCEL_H
#define KGRADE_CUDA_PARCEL_H

#include <stdint.h>

#include "../../../sandbox/base/error.h"

struct parcel {
    uint64_t bytes, workspace_bytes;
};

/* memory_fd stays the caller's; *ret_fd is new.  -1 with `arena_failed`. */
int parcel_pack(const struct parcel *parcel, int memory_fd, int *ret_fd, kgrade_error *err);

/* Never waits.  *ret_memory_fd is new and the caller's; fd can be opened again.  -1 with `arena_failed`. */
int parcel_open(int fd, struct parcel *ret, int *ret_memory_fd, kgrade_error *err);

#endif
