#define _GNU_SOURCE
#include "ceilings.h"

#include "../../../sandbox/base/fail.h"
#include "../../../sandbox/base/io.h"
#include "gate.h"

#define COPY_BYTES (256ull << 20) /* each of source and target; halved while memory is short */
#define COPY_MIN_BYTES (16ull << 20)
#define COPY_LAUNCHES 12
#define CACHE_DIVISOR 8 /* source and target together take a quarter of L2 */
#define CACHE_LAUNCHES 200
#define ARITHMETIC_LAUNCHES 4
#define FMA_ROUNDS 20000u
#define TENSOR_ROUNDS 4000u
#define REPEATS 3

struct bench {
    const struct kernels *kernels;
    CUstream stream;
    kgrade_error *err;
};

/* Seconds for `launches` launches, back to back; the best of REPEATS after one to warm up. */
static int time_launches(const struct bench *b, enum kernel_id id, unsigned int blocks,
                         void **arguments, int launches, double *ret_seconds)
{
    double best = 0;
    struct launch_target target = {.stream = b->stream};
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        uint64_t start = io_now();
        for (int i = 0; i < launches; i++)
            if (kernels_launch(b->kernels, id, blocks, KERNELS_THREADS, &target, arguments, b->err))
                return -1;
        if (gate_wait(b->stream, start + GATE_TIMEOUT_NS, b->err))
            return -1;
        double seconds = (double)(io_now() - start) / (double)IO_NS_PER_S;
        if (repeat > 0 && (best == 0 || seconds < best))
            best = seconds;
    }
    *ret_seconds = best;
    return 0;
}

static int copy_rate(const struct bench *b, CUdeviceptr from, CUdeviceptr to, uint64_t bytes,
                     int launches, double *ret)
{
    uint64_t n = bytes / 16;
    double seconds = 0;
    void *arguments[] = {&from, &to, &n};
    if (time_launches(b, KERNEL_COPY, b->kernels->processors * 8, arguments, launches, &seconds))
        return -1;
    *ret = 2.0 * (double)(n * 16) * launches / seconds;
    return 0;
}

/* Memory reads faster than it copies: nothing turns around. */
static int read_rate(const struct bench *b, CUdeviceptr from, uint64_t bytes, int launches,
                     double *ret)
{
    uint64_t n = bytes / 16;
    double seconds = 0;
    CUdeviceptr sink = from;
    void *arguments[] = {&from, &n, &sink};
    if (time_launches(b, KERNEL_EVICT, b->kernels->processors * 8, arguments, launches, &seconds))
        return -1;
    *ret = (double)(n * 16) * launches / seconds;
    return 0;
}

static int copy_rates(const struct bench *b, const struct driver_context *context,
                      double *ret_memory, double *ret_cache)
{
    uint64_t bytes = COPY_BYTES;
    CUdeviceptr area = 0;
    CUresult result = cuMemAlloc(&area, 2 * bytes);
    while (result == CUDA_ERROR_OUT_OF_MEMORY && bytes > COPY_MIN_BYTES) {
        bytes /= 2;
        result = cuMemAlloc(&area, 2 * bytes);
    }
    if (result != CUDA_SUCCESS)
        return driver_fail(b->err, "device_failed", result,
                           "Memory to measure the card's bandwidth");
    uint64_t cache =
        (uint64_t)driver_attribute(context, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / CACHE_DIVISOR;
    if (cache > bytes || cache == 0)
        cache = bytes;
    /* Filled first: memory that was never written may read faster than it ever will again. */
    double read = 0;
    int failed = cuMemsetD8Async(area, 1, 2 * bytes, b->stream) != CUDA_SUCCESS ||
                 read_rate(b, area, 2 * bytes, COPY_LAUNCHES, &read) ||
                 copy_rate(b, area, area + bytes, bytes, COPY_LAUNCHES, ret_memory) ||
                 copy_rate(b, area, area + bytes, cache, CACHE_LAUNCHES, ret_cache);
    cuMemFree(area);
    if (read > *ret_memory)
        *ret_memory = read;
    return failed ? -1 : 0;
}

/* operations: of one thread block in one round. */
static int arithmetic_rate(const struct bench *b, enum kernel_id id, CUdeviceptr sink,
                           uint32_t rounds, unsigned int blocks_per_processor, double operations,
                           double *ret)
{
    unsigned int blocks = b->kernels->processors * blocks_per_processor;
    double seconds = 0;
    void *arguments[] = {&sink, &rounds};
    if (time_launches(b, id, blocks, arguments, ARITHMETIC_LAUNCHES, &seconds))
        return -1;
    *ret = operations * blocks * rounds * ARITHMETIC_LAUNCHES / seconds;
    return 0;
}

static bool has_narrow_numbers(const struct task *task)
{
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        if (p->kind <= PARAM_INOUT && dtype_size(p->dtype) == 1 && p->dtype != DTYPE_BOOL)
            return true;
    }
    return false;
}

static int arithmetic_rates(const struct bench *b, const struct driver_context *context,
                            CUdeviceptr sink, double *ret_f32, double *ret_tensor)
{
    const double warps = KERNELS_THREADS / 32.0, groups = KERNELS_THREADS / 128.0;
    double mma = 0, wgmma = 0;
    if (arithmetic_rate(b, KERNEL_FMA, sink, FMA_ROUNDS, 8, 2.0 * 16 * KERNELS_THREADS, ret_f32) ||
        arithmetic_rate(b, KERNEL_MMA, sink, TENSOR_ROUNDS, 2, warps * 16 * 2.0 * 16 * 8 * 16,
                        &mma))
        return -1;
    if (context->major == 9 && context->minor == 0 &&
        arithmetic_rate(b, KERNEL_WGMMA, sink, TENSOR_ROUNDS / 4, 1,
                        groups * 4 * 2.0 * 64 * 256 * 16, &wgmma))
        return -1;
    *ret_tensor = mma > wgmma ? mma : wgmma;
    return 0;
}

json_t *ceilings_measure(const struct kernels *kernels, const struct driver_context *context,
                         const struct task *task, CUstream stream, kgrade_error *err)
{
    const struct bench b = {kernels, stream, err};
    double memory = 0, cache = 0, f32 = 0, tensor = 0;
    CUdeviceptr sink = 0;
    CUresult result = cuMemAlloc(&sink, 256);
    if (result != CUDA_SUCCESS) {
        driver_fail(err, "device_failed", result, "cuMemAlloc");
        return NULL;
    }
    int failed = copy_rates(&b, context, &memory, &cache) ||
                 arithmetic_rates(&b, context, sink, &f32, &tensor);
    cuMemFree(sink);
    if (failed)
        return NULL;
    double most = tensor > f32 ? tensor : f32;
    if (has_narrow_numbers(task))
        most *= 2;
    driver_trace("copy %.3g B/s, in L2 %.3g B/s, f32 %.3g/s, tensor %.3g/s", memory, cache, f32,
                 tensor);
    json_t *json =
        json_pack("{s:f, s:f, s:f, s:f}", "memory_bytes_per_s", memory, "cache_bytes_per_s", cache,
                  "operations_per_s", most, "f32_operations_per_s", f32);
    if (!json)
        fail(err, "out_of_memory", NULL, "No memory for the ceilings.");
    return json;
}
