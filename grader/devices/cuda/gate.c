#define _GNU_SOURCE
#include "gate.h"

#include <string.h>
#include <unistd.h>

#include "../../../sandbox/base/fail.h"

#define SPIN_NS                                                                                    \
    (2 * IO_NS_PER_MS) /* a wait polls without pause for this long, then sleeps between looks */
#define PAUSE_US 50u
#define LOOK_EVERY 4096u /* polls of the mailbox between looks at the clock and the stream */

int gate_fail(kgrade_error *err, CUresult result, const char *what)
{
    const char *fault = driver_kernel_fault(result);
    if (!fault)
        return driver_fail(err, "device_failed", result, what);
    driver_trace("fault %d: %s", (int)result, what);
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS)
        return fail(err, "replay_illegal_access",
                    "Check bounds for every size of the task, and keep pointers only into memory "
                    "that was allocated "
                    "with cudaMalloc or given as an argument: others mean nothing in a replay.",
                    "%s during a replay (CUDA error %d).", fault, (int)result);
    return fail(err, "kernel_failed",
                "Run the candidate under compute-sanitizer to find the place.",
                "%s during a replay (CUDA error %d).", fault, (int)result);
}

static int timed_out(kgrade_error *err)
{
    return fail(err, "replay_timeout",
                "Look for a loop that never ends, or a wait for another block that is not running.",
                "A replay had not ended after %llu s.",
                (unsigned long long)(GATE_TIMEOUT_NS / IO_NS_PER_S));
}

int gate_open(struct gate *ret, kgrade_error *err)
{
    struct gate g = {.ahead_ns = GATE_AHEAD_NS};
    void *host = NULL;
    size_t bytes = WORD_COUNT * sizeof(uint64_t);
    DRIVER_TRY(err,
               cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    memset(host, 0, bytes);
    g.mail = host;
    CUresult result = cuMemHostGetDevicePointer(&g.mail_device, host, 0);
    if (result != CUDA_SUCCESS) {
        cuMemFreeHost(host);
        return driver_fail(err, "device_failed", result, "cuMemHostGetDevicePointer");
    }
    *ret = g;
    return 0;
}

void gate_close(struct gate *gate)
{
    if (gate->mail)
        cuMemFreeHost((void *)(uintptr_t)gate->mail);
    *gate = (struct gate){0};
}

static void post(struct gate *gate, enum kernels_word word, uint64_t value)
{
    __atomic_store_n(&gate->mail[word], value, __ATOMIC_SEQ_CST);
}

static uint64_t look(const struct gate *gate, enum kernels_word word)
{
    return __atomic_load_n(&gate->mail[word], __ATOMIC_ACQUIRE);
}

int gate_wait(CUstream stream, uint64_t deadline, kgrade_error *err)
{
    uint64_t start = io_now();
    for (;;) {
        CUresult result = cuStreamQuery(stream);
        if (result == CUDA_SUCCESS)
            return 0;
        if (result != CUDA_ERROR_NOT_READY)
            return gate_fail(err, result, "Waiting for a replay");
        uint64_t now = io_now();
        if (now > deadline)
            return timed_out(err);
        if (now - start > SPIN_NS)
            usleep(PAUSE_US);
    }
}

/* Polls a word of the mailbox until it is not 0.  *ret 0: the stream ended without it. */
static int await(const struct gate *gate, enum kernels_word word, CUstream stream,
                 uint64_t deadline, uint64_t *ret, kgrade_error *err)
{
    for (uint32_t polls = 1;; polls++) {
        *ret = look(gate, word);
        if (*ret)
            return 0;
        if (polls % LOOK_EVERY)
            continue;
        CUresult result = cuStreamQuery(stream);
        if (result == CUDA_SUCCESS) {
            *ret = look(gate, word);
            return 0;
        }
        if (result != CUDA_ERROR_NOT_READY)
            return gate_fail(err, result, "Waiting at the gate");
        if (io_now() > deadline)
            return timed_out(err);
    }
}

static int begin(struct gate *gate, enum kernels_command command, CUgraphExec exec, CUstream stream,
                 kgrade_error *err)
{
    post(gate, WORD_ARRIVED, 0);
    post(gate, WORD_PROMISE, 0);
    post(gate, WORD_LATE, 0);
    post(gate, WORD_STOP, 0);
    post(gate, WORD_AHEAD, gate->ahead_ns);
    post(gate, WORD_PATIENCE, GATE_PATIENCE_NS);
    post(gate, WORD_COMMAND, command);
    CUresult result = cuGraphLaunch(exec, stream);
    return result == CUDA_SUCCESS ? 0 : gate_fail(err, result, "Launching a replay");
}

int gate_sample(struct gate *gate, CUgraphExec exec, CUstream stream, struct replay_sample *ret,
                kgrade_error *err)
{
    uint64_t deadline = io_now() + GATE_TIMEOUT_NS, arrived = 0, release = 0;
    if (begin(gate, COMMAND_NONE, exec, stream, err) ||
        await(gate, WORD_ARRIVED, stream, deadline, &arrived, err))
        return -1;
    post(gate, WORD_COMMAND, COMMAND_PROMISE);
    if (await(gate, WORD_PROMISE, stream, deadline, &release, err))
        return -1;
    post(gate, WORD_COMMAND, COMMAND_TAKEN);
    if (gate_wait(stream, deadline, err))
        return -1;

    uint64_t late = look(gate, WORD_LATE), stop = look(gate, WORD_STOP);
    struct replay_sample sample = {.ns = stop - release};
    sample.is_void = !arrived || !release || !stop || late || stop < release;
    if (sample.is_void)
        sample.ns = 0;
    if (late && gate->ahead_ns < GATE_MAX_AHEAD_NS) {
        gate->ahead_ns += gate->ahead_ns / 4;
        driver_trace("promise too late; notice is now %llu ns", (unsigned long long)gate->ahead_ns);
    }
    *ret = sample;
    return 0;
}

int gate_pass(struct gate *gate, CUgraphExec exec, CUstream stream, kgrade_error *err)
{
    if (begin(gate, COMMAND_PASS, exec, stream, err))
        return -1;
    return gate_wait(stream, io_now() + GATE_TIMEOUT_NS, err);
}

void gate_hold_open(struct gate *gate)
{
    post(gate, WORD_COMMAND, COMMAND_PASS);
}
