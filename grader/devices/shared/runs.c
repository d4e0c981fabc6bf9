#include "runs.h"

#include <string.h>

static bool is_zero(const uint8_t *data, uint64_t bytes)
{
    /* The first byte is zero and every byte equals the one before it. */
    return bytes == 0 || (data[0] == 0 && !memcmp(data, data + 1, bytes - 1));
}

size_t runs_of(const uint8_t *data, uint64_t bytes, struct run *ret, size_t max)
{
    size_t n = 0;
    for (uint64_t at = 0; at < bytes; at += RUNS_GRAIN) {
        uint64_t now = bytes - at < RUNS_GRAIN ? bytes - at : RUNS_GRAIN;
        bool zero = is_zero(data + at, now);
        if (n && ret[n - 1].is_zero == zero) {
            ret[n - 1].bytes += now;
        } else if (n == max) {
            ret[n - 1].bytes = bytes - ret[n - 1].from;
            ret[n - 1].is_zero = false;
            return n;
        } else {
            ret[n++] = (struct run){at, now, zero};
        }
    }
    return n;
}
