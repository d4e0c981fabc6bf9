/*
 * Drawing hidden cases.  Kernels break at the edges of tiles and at the ends of ranges, so sizes
 * are not drawn evenly: each dim picks one of the styles below, then a size in that style.
 */
#include <string.h>

#include "task.h"
#include "values.h"

#define STREAM_HIDDEN 4u
#define MAX_ATTEMPTS 64u
#define MAX_SCAN 4096u

/* A number in 0..n-1 from one word; n > 0. */
static uint64_t below(uint32_t word, uint64_t n)
{
    return (uint64_t)((unsigned __int128)word * n >> 32);
}

/* Index of the highest bit; x > 0. */
static unsigned log2_floor(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* A number in low..high, 0 <= low <= high. */
static int64_t draw_awkward(int64_t low, int64_t high, const uint32_t r[4])
{
    uint64_t span = (uint64_t)(high - low) + 1;
    switch (r[0] & 7) {
    case 0: /* at an end, or next to it */
        return clamp(r[1] & 1 ? low + (int64_t)(r[2] & 1) : high - (int64_t)(r[2] & 1), low, high);
    case 1:
    case 2: { /* a power of two, or one more or less */
        unsigned first = log2_floor((uint64_t)low + 1), last = log2_floor((uint64_t)high + 1);
        int64_t power = (int64_t)1 << (first + below(r[1], last - first + 1));
        return clamp(power + (int64_t)below(r[2], 3) - 1, low, high);
    }
    case 3: /* just past or just short of a multiple of 64 */
        return clamp((low + (int64_t)below(r[1], span)) / 64 * 64 + (r[2] & 1 ? 1 : -1), low, high);
    case 4:
    case 5: { /* small sizes as often as large ones */
        unsigned bits = (unsigned)below(r[1], log2_floor(span) + 1);
        return clamp(low + (int64_t)(((uint64_t)1 << bits) - 1 + below(r[2], (uint64_t)1 << bits)),
                     low, high);
    }
    default: /* any, odd more often */
        return clamp((low + (int64_t)below(r[1], span)) | (int64_t)(r[2] & 1), low, high);
    }
}

static bool usable(const struct task *task, const int64_t *dims, const struct task_case *taken,
                   size_t n_taken)
{
    for (size_t i = 0; i < n_taken; i++)
        if (memcmp(taken[i].dims, dims, task->n_dims * sizeof *dims) == 0)
            return false;
    struct layout layout;
    return task_layout(task, dims, &layout, NULL) == 0;
}

/* Counts on from dims to the next combination inside the range, last dim fastest, wrapping at the
 * end. */
static void step(const struct task *task, const struct hidden_range *range, int64_t *dims)
{
    for (size_t i = task->n_dims; i-- > 0;) {
        int64_t multiple = range->multiple[i];
        if (dims[i] <= range->high[i] - multiple) {
            dims[i] += multiple;
            return;
        }
        dims[i] = (range->low[i] + multiple - 1) / multiple * multiple;
    }
}

static bool draw_one(const struct task *task, const struct hidden_range *range, uint32_t number,
                     uint64_t seed, const struct task_case *taken, size_t n_taken, int64_t *dims)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        for (uint32_t i = 0; i < task->n_dims; i++) {
            int64_t multiple = range->multiple[i];
            uint32_t counter[4] = {attempt, number, i, STREAM_HIDDEN}, r[4];
            values_philox(counter, key, r);
            dims[i] = multiple * draw_awkward((range->low[i] + multiple - 1) / multiple,
                                              range->high[i] / multiple, r);
        }
        if (usable(task, dims, taken, n_taken))
            return true;
    }
    /* A range with few sizes: the nearest free one after the last draw. */
    for (unsigned i = 0; i < MAX_SCAN; i++) {
        step(task, range, dims);
        if (usable(task, dims, taken, n_taken))
            return true;
    }
    return false;
}

size_t task_draw_hidden(const struct task *task, const char *device, uint64_t seed,
                        struct task_case ret[TASK_MAX_CASES])
{
    size_t n = 0;
    uint32_t number = 0;
    for (size_t r = 0; r < task->n_hidden; r++) {
        const struct hidden_range *range = &task->hidden[r];
        if (!task_devices_include(range->devices, device)) {
            number += (uint32_t)range->count;
            continue;
        }
        for (size_t i = 0; i < range->count && n < TASK_MAX_CASES; i++) {
            struct task_case one = {.kind = CASE_HIDDEN, .values = range->has_values ? r + 1 : 0};
            if (!draw_one(task, range, number++, seed, ret, n, one.dims))
                continue;
            memcpy(one.devices, range->devices, sizeof one.devices);
            ret[n++] = one;
        }
    }
    return n;
}
