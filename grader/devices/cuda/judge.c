/* The judge's device half: a context of its own, the arena mapped read-only, and in it either copies to the host or the
 * task's reference for the device.  Of a foreign task the arena is mapped for writing: the task's Python makes the inputs of
 * each sample there, and its answers in memory of this context. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "../../../sandbox/base/io.h"
#include "../../judge/worker.h"
#include "arena.h"
#include "judge_memory.h"
#include "judge_reference.h"

#define STAGE_BYTES (8ull << 20) /* each of two pieces of pinned memory that copies go through */

struct reader {
    struct driver_context context;
    struct arena arena;
    CUstream stream;
    void *stage[2];
    struct device_reference reference;
    struct device_memory memory; /* of a foreign task */
};

static void detach(void *state)
{
    struct reader *r = state;
    if (!r)
        return;
    device_reference_close(&r->reference);
    device_memory_close(&r->memory);
    for (int i = 0; i < 2; i++)
        if (r->stage[i])
            cuMemFreeHost(r->stage[i]);
    if (r->stream)
        cuStreamDestroy(r->stream);
    arena_close(&r->arena);
    driver_close(&r->context);
    free(r);
}

/* The context alone takes a tenth of a second, and the first memory out of the pool a quarter of that: what is the same for all
 * arenas is made while the process waits for one. */
static struct reader made_ahead = {.arena = {.memory_fd = -1}};

static int judge_start(kgrade_error *err)
{
    struct reader *r = &made_ahead;
    if (driver_open(&r->context, CU_CTX_SCHED_BLOCKING_SYNC, err))
        return -1;
    DRIVER_TRY(err, cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        DRIVER_TRY(err, cuMemHostAlloc(&r->stage[i], STAGE_BYTES, 0));
    device_reference_ready_memory(&r->context, r->stream);
    return 0;
}

static int attach(int arena_fd, bool fills, void **ret_state, kgrade_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, "out_of_memory", NULL, "No memory for the judge's device.");
    if (!made_ahead.context.context && judge_start(err)) { /* a second arena */
        free(r);
        return -1;
    }
    *r = made_ahead;
    made_ahead = (struct reader){.arena = {.memory_fd = -1}};
    if (arena_import(&r->arena, &r->context, arena_fd, fills ? ARENA_FILL : ARENA_READ_ONLY, err) ||
        (fills && device_memory_open(&r->memory, &r->context, r->stream, &r->arena, err))) {
        detach(r);
        return -1;
    }
    *ret_state = r;
    return 0;
}

/* While one piece is copied to where it belongs, the next is on its way from the device. */
static int read_arena(void *state, uint64_t offset, uint64_t bytes, void *to, kgrade_error *err)
{
    struct reader *r = state;
    if (device_memory_check(&r->arena, offset, bytes, err))
        return -1;
    uint64_t previous = 0, at = 0;
    for (int turn = 0; at < bytes || previous; turn ^= 1) {
        uint64_t now = bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
        if (now)
            DRIVER_TRY(err,
                       cuMemcpyDtoHAsync(r->stage[turn], arena_buffers(&r->arena) + offset + at,
                                         now, r->stream));
        if (previous)
            memcpy((uint8_t *)to + at - previous, r->stage[turn ^ 1], previous);
        DRIVER_TRY(err, cuStreamSynchronize(r->stream));
        at += now;
        previous = now;
    }
    return 0;
}

/* --- the task's reference for the device --- */

static int load(void *state, const struct task *task, int library_fd, kgrade_error *err)
{
    struct reader *r = state;
    return device_reference_open(&r->reference, &r->context, r->stream, task, library_fd, err);
}

static int evaluate(void *state, const struct judge_case *c, void *const *wide, kgrade_error *err)
{
    const struct reader *r = state;
    return device_reference_evaluate(&r->reference, c, wide, err);
}

static int keep(void *state, const struct judge_case *c, void **ret_kept, bool *ret_changed,
                kgrade_error *err)
{
    const struct reader *r = state;
    struct device_outputs *kept;
    if (device_memory_check(&r->arena, 0, c->layout.bytes, err) ||
        device_reference_keep(&r->reference, c, arena_buffers(&r->arena), &kept, ret_changed, err))
        return -1;
    *ret_kept = kept;
    return 0;
}

static int compare(void *state, const struct judge_case *c, const void *kept,
                   struct comparison *ret, kgrade_error *err)
{
    const struct reader *r = state;
    return device_reference_compare(&r->reference, c, kept, ret, err);
}

static void drop(void *state, void *kept)
{
    const struct reader *r = state;
    device_reference_drop(&r->reference, kept);
}

static const struct judge_reference reference = {
    .load = load, .evaluate = evaluate, .keep = keep, .compare = compare, .drop = drop};

/* --- memory for a foreign task --- */

static int arena_place(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_arena(&r->memory, bytes, ret, err);
}

static int take(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_take(&r->memory, bytes, ret, err);
}

static void give_back(void *state, uint64_t at)
{
    const struct reader *r = state;
    device_memory_give_back(&r->memory, at);
}

static int trim(void *state, kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_trim(&r->memory, err);
}

static int copy(void *state, uint64_t offset, uint64_t bytes, uint64_t to, kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_copy(&r->memory, offset, bytes, to, err);
}

static int same(void *state, uint64_t a, uint64_t b, uint64_t bytes, bool *ret, kgrade_error *err)
{
    const struct reader *r = state;
    return comparer_same(&r->memory.comparer, a, b, bytes, ret, err);
}

static int poison(void *state, const struct task *task, const struct judge_case *c, uint64_t to,
                  kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_poison(&r->memory, task, c, to, err);
}

static int compare_there(void *state, enum dtype type, uint64_t got, uint64_t poisoned,
                         uint64_t expected, uint64_t count, const struct tolerance *tolerance,
                         struct comparison *ret, kgrade_error *err)
{
    const struct reader *r = state;
    return device_memory_compare(&r->memory, type, got, poisoned, expected, count, tolerance, ret,
                                 err);
}

static const struct judge_memory memory = {.arena = arena_place,
                                           .take = take,
                                           .give_back = give_back,
                                           .trim = trim,
                                           .copy = copy,
                                           .same = same,
                                           .poison = poison,
                                           .compare = compare_there,
                                           .store = device_memory_store,
                                           .fetch = device_memory_fetch};

const struct judge_device judge_this_device = {.name = "cuda",
                                               .start = judge_start,
                                               .attach = attach,
                                               .read = read_arena,
                                               .detach = detach,
                                               .reference = &reference,
                                               .memory = &memory};
