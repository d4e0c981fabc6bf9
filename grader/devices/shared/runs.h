/* Which parts of a block of memory are zero. */
#ifndef KGRADE_DEVICES_RUNS_H
#define KGRADE_DEVICES_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNS_GRAIN 65536u /* parts are told apart in steps of this many bytes */

struct run {
    uint64_t from, bytes;
    bool is_zero;
};

/* Splits bytes into runs that cover it all; when there would be more than max (at least 1), the rest is one run that
 * counts as not zero. Returns how many. */
size_t runs_of(const uint8_t *data, uint64_t bytes, struct run *ret, size_t max);

#endif
