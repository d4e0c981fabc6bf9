/*
 * The replayer's device half: owns the arena, replays a recording on fresh inputs, times it by events.
 *
 * The judge never opens the device: outputs are copied into a memory file after each replay, and inputs are drawn there before they are
 * copied to the device.  Simple and slow, and outside what is timed.
 *
 * One sample:  the cache is overwritten -> event -> graph -> event, all queued while the first of them keeps the device busy,
 * so that no queueing lies between the events.  The floor is the same with a graph that does nothing.  Events of a device can be
 * bent by code on it; the grader's own clock around the whole request is compared with the baseline's (measure/sampling.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../replay/worker.h"
#include "../shared/host_inputs.h"
#include "health.h"
#include "rebuild.h"
#include "restore.h"

#define REPLAY_TIMEOUT_NS                                                                          \
    (10 * IO_NS_PER_S)    /* for everything that is queued before and in a launch */
#define EVICT_L2_SIZES 4u /* what is written to empty the cache, in sizes of L2 */
#define EVICT_DEFAULT_BYTES (256ull << 20) /* where the size of L2 is not known */
#define RESOLUTION_NS 10                   /* a device's counter has 100 MHz */
#define CEILING_BYTES (256ull << 20)
#define CEILING_RUNS 5
#define MATURITY "compiled and simulated; not yet run on AMD hardware"

struct replayer {
    const struct task *task;
    struct arena arena;
    uint8_t *file; /* what the judge reads: the case's buffers */
    uint64_t file_bytes;
    hip_stream stream;
    hip_event start, stop;
    void *evict;
    uint64_t evict_bytes;
    struct rebuilt empty;

    struct rebuilt call;
    struct restore restore;
    struct layout layout;
    bool cold;
    bool is_warmed_up; /* nothing of the call is loaded or set up for the first time in a sample */
    bool is_broken;    /* a kernel faulted or hangs: the runtime must not be asked to clean up */
};

static int device_fault(struct replayer *r, hip_error result, const char *what, kgrade_error *err)
{
    const char *fault = runtime_kernel_fault(result);
    r->is_broken = true;
    if (!fault)
        return runtime_fail(err, "device_failed", result, what);
    if (result == HIP_ERROR_ILLEGAL_ADDRESS)
        return fail(err, "replay_illegal_access",
                    "Check bounds for every size of the task, and keep pointers only into memory "
                    "that was allocated with hipMalloc or given as an argument: others mean "
                    "nothing in a replay.",
                    "%s during a replay (HIP error %d).", fault, result);
    return fail(err, "kernel_failed", "Check index ranges and launch sizes.",
                "%s during a replay (HIP error %d).", fault, result);
}

/* Polls: the runtime's own waiting knows no deadline. */
static int wait_for(struct replayer *r, kgrade_error *err)
{
    uint64_t deadline = io_now() + REPLAY_TIMEOUT_NS;
    hip_error result;
    while ((result = hip.hipStreamQuery(r->stream)) == HIP_ERROR_NOT_READY) {
        if (io_now() > deadline) {
            r->is_broken = true;
            return fail(err, "replay_timeout",
                        "Look for a loop that never ends, or a wait for another block that is not "
                        "running.",
                        "A replay had not ended after %llu s.",
                        (unsigned long long)(REPLAY_TIMEOUT_NS / IO_NS_PER_S));
        }
        sched_yield();
    }
    return result == HIP_SUCCESS ? 0 : device_fault(r, result, "Waiting for a replay", err);
}

static int make_file(struct replayer *r, uint64_t bytes, int *ret_fd, kgrade_error *err)
{
    cleanup_close int fd = memfd_create("kgrade-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return fail_errno(err, "arena_failed", NULL,
                          "A file of %llu bytes for the judge could not be made",
                          (unsigned long long)bytes);
    void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The judge's file could not be mapped");
    r->file = at;
    r->file_bytes = bytes;
    *ret_fd = steal_fd(&fd);
    return 0;
}

static int attribute(int which)
{
    int value = 0;
    return hip.hipDeviceGetAttribute(&value, which, 0) == HIP_SUCCESS && value > 0 ? value : 0;
}

static json_t *make_info(const struct replayer *r)
{
    char name[256] = "", version[32], driver[32];
    int driver_version = 0;
    size_t memory = 0;
    hip.hipDeviceGetName(name, (int)sizeof name - 1, 0);
    hip.hipDeviceTotalMem(&memory, 0);
    hip.hipDriverGetVersion(&driver_version);
    runtime_version_text(hip.version, version, sizeof version);
    runtime_version_text(driver_version, driver, sizeof driver);
    json_t *info =
        json_pack("{s:s, s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:s, s:s, s:s}",
                  "hardware", name, "driver", driver, "target", hip.target, "runtime", "library",
                  hip.path, "version", version, "cache", "cold", "eviction", "by writing", "timer",
                  "events of the device around the graph", "resolution_ns", RESOLUTION_NS,
                  "multiprocessors", attribute(HIP_ATTRIBUTE_MULTIPROCESSORS), "l2_bytes",
                  attribute(HIP_ATTRIBUTE_L2_CACHE_SIZE), "memory_bytes", (json_int_t)memory,
                  "replay", "separate-process", "addresses",
                  arena_is_home(&r->arena) ? "as recorded" : "moved in pointer arguments",
                  "maturity", MATURITY);
    if (info && hip.warning[0])
        json_object_set_new(info, "runtime_warning", json_string(hip.warning));
    if (info && !hip.has_edges)
        json_object_set_new(info, "order", json_string("one node after the other"));
    return info;
}

static int replay_start(kgrade_error *err)
{
    return runtime_open(RUNTIME_FOR_REPLAY, err);
}

static int open_device(struct replayer *r, uint64_t arena_bytes, kgrade_error *err)
{
    if (runtime_open(RUNTIME_FOR_REPLAY, err) ||
        arena_create(&r->arena, r->task->workspace_bytes, arena_bytes, err))
        return -1;
    RUNTIME_TRY(err, hip.hipStreamCreateWithFlags(&r->stream, HIP_STREAM_NON_BLOCKING));
    RUNTIME_TRY(err, hip.hipEventCreateWithFlags(&r->start, 0));
    RUNTIME_TRY(err, hip.hipEventCreateWithFlags(&r->stop, 0));
    uint64_t l2 = (uint64_t)attribute(HIP_ATTRIBUTE_L2_CACHE_SIZE);
    r->evict_bytes = l2 ? l2 * EVICT_L2_SIZES : EVICT_DEFAULT_BYTES;
    RUNTIME_TRY(err, hip.hipMalloc(&r->evict, (size_t)r->evict_bytes));
    RUNTIME_TRY(err, hip.hipMemsetAsync((void *)(uintptr_t)r->arena.address, 0,
                                        (size_t)r->arena.bytes, r->stream));
    return rebuild_empty(&r->empty, err) || wait_for(r, err) ? -1 : 0;
}

static int replay_open(const struct task *task, uint64_t arena_bytes, int shared_fd,
                       void **ret_state, json_t **ret_info, int *ret_arena_fd, kgrade_error *err)
{
    static struct replayer replayer;
    struct replayer *r = &replayer;
    cleanup_close int fd = -1;
    (void)shared_fd; /* every replayer here has an arena of its own */
    r->task = task;
    r->cold = true; /* the floor is taken before anything is prepared */
    if (make_file(r, arena_bytes, &fd, err) || open_device(r, arena_bytes, err))
        return -1;
    *ret_info = make_info(r);
    if (!*ret_info)
        return fail(err, "device_failed", NULL, "The device's description is not UTF-8.");
    *ret_state = r;
    *ret_arena_fd = steal_fd(&fd);
    return 0;
}

static void close_call(struct replayer *r)
{
    restore_close(&r->restore);
    rebuilt_close(&r->call);
    r->is_warmed_up = false;
}

static int replay_load(void *state, const struct recording *recording,
                       const struct recording_call *call, const struct layout *layout,
                       kgrade_error *err)
{
    struct replayer *r = state;
    if (r->is_broken)
        return fail(err, "device_failed", "Start a fresh replayer.",
                    "A kernel of an earlier replay broke the device's context.");
    close_call(r);
    if (layout->bytes > r->file_bytes || layout->bytes > arena_case_bytes(&r->arena))
        return fail(err, "arena_failed", "Report this: the arena was made too small for the task.",
                    "A case needs %llu bytes of an arena of %llu.",
                    (unsigned long long)layout->bytes, (unsigned long long)r->file_bytes);
    r->layout = *layout;
    /* What an earlier call left is nothing that this one may find. */
    RUNTIME_TRY(err, hip.hipMemsetAsync((void *)(uintptr_t)r->arena.address, 0,
                                        (size_t)r->arena.bytes, r->stream));
    if (wait_for(r, err) || rebuild_call(&r->call, recording, call, &r->arena, r->stream, err) ||
        restore_open(&r->restore, &r->call, recording, call, &r->arena, err))
        return -1;
    return 0;
}

static int give_inputs(struct replayer *r, uint64_t seed, uint64_t poison, kgrade_error *err)
{
    host_inputs_fill(r->task, &r->layout, r->file, seed, poison);
    if (restore_do(&r->restore, &r->arena, r->stream, err))
        return -1;
    RUNTIME_TRY(err,
                hip.hipMemcpyAsync((void *)(uintptr_t)arena_buffers(&r->arena), r->file,
                                   (size_t)r->layout.bytes, HIP_COPY_HOST_TO_DEVICE, r->stream));
    return wait_for(r, err);
}

/* A launch that has never run may load code and set up memory. */
static int warm_up(struct replayer *r, kgrade_error *err)
{
    if (r->is_warmed_up)
        return 0;
    hip_error result = hip.hipGraphLaunch(r->call.exec, r->stream);
    if (result != HIP_SUCCESS)
        return device_fault(r, result, "Launching a graph", err);
    r->is_warmed_up = true;
    return wait_for(r, err);
}

static int replay_prepare(void *state, uint64_t seed, uint64_t poison, bool cold, kgrade_error *err)
{
    struct replayer *r = state;
    r->cold = cold;
    /* The warm-up has inputs that no sample has. */
    return (!r->is_warmed_up && (give_inputs(r, ~seed, ~poison, err) || warm_up(r, err))) ||
                   give_inputs(r, seed, poison, err)
               ? -1
               : 0;
}

static hip_error queue_sample(struct replayer *r, bool empty)
{
    hip_error result =
        r->cold ? hip.hipMemsetAsync(r->evict, 0, (size_t)r->evict_bytes, r->stream) : HIP_SUCCESS;
    if (result == HIP_SUCCESS)
        result = hip.hipEventRecord(r->start, r->stream);
    if (result == HIP_SUCCESS)
        result = hip.hipGraphLaunch(empty ? r->empty.exec : r->call.exec, r->stream);
    if (result == HIP_SUCCESS)
        result = hip.hipEventRecord(r->stop, r->stream);
    return result;
}

static int replay_run(void *state, bool empty, struct replay_sample *ret, kgrade_error *err)
{
    struct replayer *r = state;
    float ms = 0;
    uint64_t begin = io_now();
    hip_error result = queue_sample(r, empty);
    if (result != HIP_SUCCESS)
        return device_fault(r, result, "Queueing a replay", err);
    if (wait_for(r, err))
        return -1;
    uint64_t host_ns = io_now() - begin;
    result = hip.hipEventElapsedTime(&ms, r->start, r->stop);
    if (result != HIP_SUCCESS)
        return device_fault(r, result, "Reading the events", err);
    /* The judge's; also after an empty one, so that the grader's clock finds the same in both. */
    result = hip.hipMemcpyAsync(r->file, (const void *)(uintptr_t)arena_buffers(&r->arena),
                                (size_t)r->layout.bytes, HIP_COPY_DEVICE_TO_HOST, r->stream);
    if (result != HIP_SUCCESS)
        return device_fault(r, result, "Copying the outputs", err);
    if (wait_for(r, err))
        return -1;
    double ns = (double)ms * 1e6;
    /* What the host has seen of it is longer than it was: less is a clock that went wrong. */
    ret->is_void = !(ns > 0) || ns > (double)host_ns;
    ret->ns = ret->is_void ? 0 : (uint64_t)ns;
    return 0;
}

/* Of memory only, by copying on the device: kgrade brings no kernels of its own for HIP, so there is no roofline. */
static json_t *replay_ceilings(void *state, kgrade_error *err)
{
    struct replayer *r = state;
    void *from = NULL, *to = NULL;
    double best = 0;
    hip_error result = hip.hipMalloc(&from, CEILING_BYTES);
    if (result == HIP_SUCCESS)
        result = hip.hipMalloc(&to, CEILING_BYTES);
    for (int i = 0; result == HIP_SUCCESS && i <= CEILING_RUNS; i++) {
        float ms = 0;
        hip.hipEventRecord(r->start, r->stream);
        hip.hipMemcpyAsync(to, from, CEILING_BYTES, HIP_COPY_DEVICE_TO_DEVICE, r->stream);
        hip.hipEventRecord(r->stop, r->stream);
        if (wait_for(r, err))
            return NULL;
        result = hip.hipEventElapsedTime(&ms, r->start, r->stop);
        double rate = ms > 0 ? 2e3 * (double)CEILING_BYTES / (double)ms : 0;
        best = i > 0 && rate > best ? rate : best;
    }
    if (from)
        hip.hipFree(from);
    if (to)
        hip.hipFree(to);
    if (result != HIP_SUCCESS) {
        runtime_fail(err, "device_failed", result, "Measuring the device's memory");
        return NULL;
    }
    return json_pack("{s:f}", "memory_bytes_per_s", best);
}

static json_t *replay_health(void *state)
{
    (void)state;
    return health_read("/sys");
}

static void replay_close(void *state)
{
    struct replayer *r = state;
    if (!r || r->is_broken)
        return;
    close_call(r);
    rebuilt_close(&r->empty);
    hip.hipFree(r->evict);
    arena_close(&r->arena);
}

int main(void)
{
    static const struct replay_device device = {
        .name = "hip",
        .start = replay_start,
        .open = replay_open,
        .load = replay_load,
        .prepare = replay_prepare,
        .run = replay_run,
        .ceilings = replay_ceilings,
        .health = replay_health,
        .close = replay_close,
    };
    return replay_worker_main(&device);
}
