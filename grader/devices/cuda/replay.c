/* The replayer's device half: owns the arena, replays a recording on fresh inputs, times it by the promise gate. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../replay/worker.h"
#include "arena.h"
#include "batch.h"
#include "ceilings.h"
#include "gate.h"
#include "inputs.h"
#include "launch.h"
#include "nvml.h"
#include "rebuild.h"
#include "restore.h"

/* The buffer that is read to empty L2, in sizes of L2.  On an H200 a copy of 16 MiB takes 8 % longer after one size than after
 * three, 1 % longer after two, and as long after sixteen.  But of pairs of processes one in some twenty was 1 % apart with three and
 * with four, and none of twelve with eight.  Six is what the time for a sample allows. */
#define EVICT_L2_SIZES 6u
#define EVICT_DEFAULT_BYTES (256ull << 20) /* where the size of L2 is not known */
#define WARM_UP_SALT 0x9e3779b97f4a7c15ull /* inputs of the warm-up are not those of any sample */

struct replayer {
    /* The same for all tasks. */
    struct driver_context context;
    CUstream stream;
    struct kernels kernels;
    struct gate gate;
    struct nvml *nvml;
    CUdeviceptr evict_from;
    uint64_t evict_bytes;
    uint64_t resolution_ns; /* the smallest step of the device's global timer */
    struct rebuilt empty;

    const struct task *task;
    struct arena arena;
    struct rebuilt call;
    struct restore restore;
    struct batch batch;
    struct layout layout;
    bool
        is_filled; /* a foreign task's inputs are in the arena when a sample is prepared; else they are drawn */
    bool
        is_warmed_up; /* the call has run once: nothing of it is loaded or set up for the first time in a sample */
    bool is_broken; /* a kernel faulted or hangs: the driver must not be asked to clean up */
};

static void close_call(struct replayer *r)
{
    batch_close(&r->batch);
    restore_close(&r->restore);
    rebuilt_close(&r->call);
    r->is_warmed_up = false;
}

static void replay_close(void *state)
{
    struct replayer *r = state;
    if (!r)
        return;
    if (!r->is_broken) {
        close_call(r);
        rebuilt_close(&r->empty);
        if (r->evict_from)
            cuMemFree(r->evict_from);
        gate_close(&r->gate);
        kernels_close(&r->kernels);
        arena_close(&r->arena);
        if (r->stream)
            cuStreamDestroy(r->stream);
        driver_close(&r->context);
        nvml_close(r->nvml);
    }
    free(r);
}

static int measure_resolution(struct replayer *r, kgrade_error *err)
{
    uint64_t ticks[KERNELS_TICKS], smallest = UINT64_MAX;
    CUdeviceptr to = r->evict_from; /* large enough, and holds nothing that matters */
    struct launch_target target = {.stream = r->stream};
    void *arguments[] = {&to};
    if (kernels_launch(&r->kernels, KERNEL_TICKS, 1, 1, &target, arguments, err) ||
        gate_wait(r->stream, io_now() + GATE_TIMEOUT_NS, err))
        return -1;
    DRIVER_TRY(err, cuMemcpyDtoH(ticks, to, sizeof ticks));
    for (size_t i = 1; i < KERNELS_TICKS; i++)
        if (ticks[i] - ticks[i - 1] < smallest)
            smallest = ticks[i] - ticks[i - 1];
    r->resolution_ns = smallest;
    return 0;
}

static int open_evict(struct replayer *r, kgrade_error *err)
{
    uint64_t l2 = (uint64_t)driver_attribute(&r->context, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    r->evict_bytes = l2 ? l2 * EVICT_L2_SIZES : EVICT_DEFAULT_BYTES;
    DRIVER_TRY(err, cuMemAlloc(&r->evict_from, r->evict_bytes));
    DRIVER_TRY(err, cuMemsetD8Async(r->evict_from, 0, r->evict_bytes, r->stream));
    return 0;
}

/* "sm_90a": with the letter that unlocks what only this architecture has, where there is one. */
static void name_target(const struct driver_context *context, char *ret, size_t size)
{
    snprintf(ret, size, "sm_%d%d%s", context->major, context->minor,
             context->major >= 9 ? "a" : "");
}

static json_t *make_info(const struct replayer *r)
{
    char name[128] = "", driver[96], target[16];
    int version = 0;
    size_t memory = 0;
    cuDeviceGetName(name, sizeof name, r->context.device);
    cuDeviceTotalMem(&memory, r->context.device);
    cuDriverGetVersion(&version);
    nvml_driver_version(r->nvml, driver, sizeof driver);
    name_target(&r->context, target, sizeof target);
    char cuda[32];
    snprintf(cuda, sizeof cuda, "%d.%d", version / 1000, version % 1000 / 10);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:I, s:I, s:I, s:b}",
                     "hardware", name, "driver", driver, "cuda", cuda, "target", target, "cache",
                     "cold", "clock", "promise gate, global timer of the device", "resolution_ns",
                     (json_int_t)r->resolution_ns, "multiprocessors", (int)r->kernels.processors,
                     "l2_bytes", driver_attribute(&r->context, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
                     "memory_bytes", (json_int_t)memory, "max_sm_clock_mhz",
                     (json_int_t)nvml_max_clock(r->nvml, false), "max_memory_clock_mhz",
                     (json_int_t)nvml_max_clock(r->nvml, true), "pageable_memory_access",
                     driver_attribute(&r->context, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS));
}

static struct rebuild_place place_of(const struct replayer *r)
{
    return (struct rebuild_place){&r->context, &r->arena, &r->kernels, &r->gate};
}

static int open_device(struct replayer *r, kgrade_error *err)
{
    if (driver_open(&r->context, CU_CTX_SCHED_SPIN, err))
        return -1;
    r->nvml = nvml_open(&r->context);
    json_decref(nvml_health(r->nvml)); /* the first answer takes milliseconds */
    DRIVER_TRY(err, cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
    /* Nothing may be set aside in L2 from one sample for the next. */
    CUresult limit = cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    if (limit != CUDA_SUCCESS)
        driver_trace("the limit of persisting L2 was not set (%d)", (int)limit);
    if (kernels_open(&r->kernels, &r->context, err) || gate_open(&r->gate, err) ||
        open_evict(r, err) || measure_resolution(r, err))
        return -1;
    struct rebuild_place place = place_of(r);
    return rebuild_empty(&r->empty, &place, r->stream, err) ||
                   gate_pass(&r->gate, r->empty.exec, r->stream, err)
               ? -1
               : 0;
}

/* The context alone takes a tenth of a second: what is the same for all tasks is made while the process waits for one. */
static struct replayer made_ahead = {.arena = {.memory_fd = -1}};

static int replay_start(kgrade_error *err)
{
    return open_device(&made_ahead, err);
}

static int open_arena(struct replayer *r, uint64_t arena_bytes, int shared_fd, kgrade_error *err)
{
    if (shared_fd < 0
            ? arena_create(&r->arena, &r->context, r->task->workspace_bytes, arena_bytes, err)
            : arena_import(&r->arena, &r->context, shared_fd, ARENA_READ_WRITE, err))
        return -1;
    if (arena_clear(&r->arena, r->stream, err))
        return -1;
    return gate_wait(r->stream, io_now() + GATE_TIMEOUT_NS, err);
}

static int replay_open(const struct task *task, uint64_t arena_bytes, int shared_fd,
                       void **ret_state, json_t **ret_info, int *ret_arena_fd, kgrade_error *err)
{
    struct replayer *r = calloc(1, sizeof *r);
    cleanup_close int fd = -1;
    if (!r)
        return fail(err, "out_of_memory", NULL, "No memory for a replayer.");
    *r = made_ahead;
    r->task = task;
    json_t *info = NULL;
    if (open_arena(r, arena_bytes, shared_fd, err) ||
        (shared_fd < 0 && arena_export(&r->arena, &fd, err))) {
        replay_close(r);
        return -1;
    }
    info = make_info(r);
    if (!info) {
        replay_close(r);
        return fail(err, "device_failed", NULL, "The device's name is not text.");
    }
    *ret_state = r;
    *ret_info = info;
    *ret_arena_fd = steal_fd(&fd);
    return 0;
}

/* All that is mapped of the workspace: neither a count of replays nor the other side's scratch, which would
 * tell a kernel that it is being timed, may be found there.  draw: inputs, too. */
static int queue_inputs(struct replayer *r, bool draw, uint64_t seed, uint64_t poison,
                        kgrade_error *err)
{
    struct launch_target target = {.stream = r->stream};
    if (arena_clear_scratch(&r->arena, r->stream, err))
        return -1;
    CUdeviceptr base = arena_buffers(&r->arena);
    if (draw ? inputs_queue(&r->kernels, &target, base, r->task, &r->layout, seed, poison, err)
             : inputs_queue_around(&r->kernels, &target, base, r->task, &r->layout, poison, err))
        return -1;
    return restore_queue(&r->restore, &r->kernels, &target, err);
}

/* A replay on inputs of its own.  A launch that has never run may load code and set up memory. */
static int warm_up(struct replayer *r, uint64_t seed, uint64_t poison, kgrade_error *err)
{
    if (queue_inputs(r, true, seed ^ WARM_UP_SALT, poison ^ WARM_UP_SALT, err) ||
        gate_pass(&r->gate, r->call.exec, r->stream, err)) {
        r->is_broken = true;
        return -1;
    }
    r->is_warmed_up = true;
    return 0;
}

/* Where a sample's inputs are in the arena before it is prepared, no kernel of the candidate runs between: it could compute ahead,
 * and would change them.  So this comes earlier, on zeros. */
static int warm_up_early(struct replayer *r, kgrade_error *err)
{
    return r->is_filled && r->call.exec && !r->is_warmed_up ? warm_up(r, 0, 0, err) : 0;
}

/* The workspace is what the call's allocations need.  Between buffers there are canaries wherever something is mapped. */
static int fit_arena(struct replayer *r, const struct recording_call *call,
                     const struct layout *layout, kgrade_error *err)
{
    uint64_t from = UINT64_MAX, end = 0;
    for (size_t i = 0; i < call->n_buffers; i++) {
        const struct recording_buffer *b = &call->buffers[i];
        uint64_t b_end;
        if (__builtin_add_overflow(b->address, b->bytes, &b_end))
            return fail(err, "recording_invalid", "Record the candidate again on this machine.",
                        "Buffer %zu lies outside the workspace.", i);
        from = b->address < from ? b->address : from;
        end = b_end > end ? b_end : end;
    }
    if (arena_fit(&r->arena, &r->context, from, end > from ? end - from : 0, err))
        return -1;
    r->layout = *layout;
    for (size_t i = 0; i < layout->n_buffers; i++) {
        struct layout_buffer *b = &r->layout.buffers[i];
        uint64_t next = i + 1 < layout->n_buffers ? b[1].offset : layout->bytes;
        b->canary = next - b->offset - b->bytes;
    }
    return 0;
}

static int replay_load(void *state, const struct recording *recording,
                       const struct recording_call *call, const struct layout *layout,
                       kgrade_error *err)
{
    struct replayer *r = state;
    struct rebuild_place place = place_of(r);
    if (r->is_broken)
        return fail(err, "device_failed", "Start a fresh replayer.",
                    "A kernel of an earlier replay broke the context.");
    close_call(r);
    if (layout->bytes > arena_case_bytes(&r->arena))
        return fail(err, "arena_failed", "Report this: the arena was made too small for the task.",
                    "A case needs %llu bytes of an arena of %llu.",
                    (unsigned long long)layout->bytes,
                    (unsigned long long)arena_case_bytes(&r->arena));
    if (fit_arena(r, call, layout, err))
        return -1;
    /* What an earlier call left is nothing that this one may find. */
    if (arena_clear(&r->arena, r->stream, err) ||
        gate_wait(r->stream, io_now() + GATE_TIMEOUT_NS, err) ||
        rebuild_call(&r->call, &place, recording, call, r->stream, err))
        return -1;
    if (restore_open(&r->restore, &place, &r->call, recording, call, r->stream, err) ||
        gate_wait(r->stream, io_now() + GATE_TIMEOUT_NS, err)) {
        close_call(r);
        return -1;
    }
    return warm_up_early(r, err);
}

static int replay_feed(void *state, const uint8_t *inputs, uint64_t bytes, kgrade_error *err)
{
    struct replayer *r = state;
    (void)bytes;
    if (inputs)
        return fail(err, "wire_invalid", NULL,
                    "Inputs come from a file, and not from the judge on the device.");
    r->is_filled = true;
    return warm_up_early(r, err);
}

static int queue_evict(struct replayer *r, kgrade_error *err)
{
    CUdeviceptr from = r->evict_from, sink = r->evict_from;
    uint64_t n = r->evict_bytes / 16;
    struct launch_target target = {.stream = r->stream};
    void *arguments[] = {&from, &n, &sink};
    return kernels_launch(&r->kernels, KERNEL_EVICT, r->kernels.processors * 8, KERNELS_THREADS,
                          &target, arguments, err);
}

static int replay_prepare(void *state, uint64_t seed, uint64_t poison, bool cold, kgrade_error *err)
{
    struct replayer *r = state;
    if (!r->is_warmed_up && warm_up(r, seed, poison, err))
        return -1;
    /* Lines that the last replay made persist are ordinary again, so that eviction takes them. */
    CUresult result = cuCtxResetPersistingL2Cache();
    if (driver_kernel_fault(result)) {
        r->is_broken = true;
        return gate_fail(err, result, "cuCtxResetPersistingL2Cache");
    }
    if (result != CUDA_SUCCESS)
        driver_trace("persisting lines of L2 were not reset (%d)", (int)result);
    /* All writing first: what is evicted last by reading is clean, and its writing back is not charged to the candidate. */
    if (queue_inputs(r, !r->is_filled, seed, poison, err) || (cold && queue_evict(r, err)))
        return -1;
    /* Ended before the grader starts its own clock for the run. */
    if (gate_wait(r->stream, io_now() + GATE_TIMEOUT_NS, err)) {
        r->is_broken = true;
        return -1;
    }
    return 0;
}

static int replay_run(void *state, bool empty, struct replay_sample *ret, kgrade_error *err)
{
    struct replayer *r = state;
    if (gate_sample(&r->gate, empty ? r->empty.exec : r->call.exec, r->stream, ret, err)) {
        r->is_broken = true;
        return -1;
    }
    return 0;
}

static int replay_batch(void *state, uint64_t seed, uint64_t poison, bool empty, size_t *n,
                        kgrade_error *err)
{
    struct replayer *r = state;
    struct rebuild_place place = place_of(r);
    batch_close(&r->batch);
    if (r->is_filled) { /* one set of inputs is there at a time */
        *n = 0;
        return 0;
    }
    const struct batch_request request = {
        &place, r->task, &r->layout, empty ? &r->empty : &r->call, &r->restore, *n, seed, poison};
    if (batch_open(&r->batch, &request, r->stream, n, err) == 0)
        return 0;
    if (strcmp(err->code, "device_failed")) {
        r->is_broken = true;
        return -1;
    }
    /* The figures have other guards, too: a driver that cannot make this graph is no reason to have none. */
    driver_trace("no batch: %s", err->message);
    *err = (kgrade_error){.code = ""};
    *n = 0;
    return 0;
}

static int replay_run_batch(void *state, kgrade_error *err)
{
    struct replayer *r = state;
    if (!r->batch.exec)
        return fail(err, "wire_invalid", NULL, "A batch was to be run before it was made.");
    if (batch_run(&r->batch, &r->gate, r->stream, err)) {
        r->is_broken = true;
        return -1;
    }
    return 0;
}

static json_t *replay_ceilings(void *state, kgrade_error *err)
{
    struct replayer *r = state;
    return ceilings_measure(&r->kernels, &r->context, r->task, r->stream, err);
}

static json_t *replay_health(void *state)
{
    struct replayer *r = state;
    return nvml_health(r->nvml);
}

int main(void)
{
    static const struct replay_device device = {
        .name = "cuda",
        .start = replay_start,
        .open = replay_open,
        .load = replay_load,
        .feed = replay_feed,
        .prepare = replay_prepare,
        .run = replay_run,
        .batch = replay_batch,
        .run_batch = replay_run_batch,
        .ceilings = replay_ceilings,
        .health = replay_health,
        .close = replay_close,
    };
    return replay_worker_main(&device);
}
