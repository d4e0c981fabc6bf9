#include "ceilings.h"

#include <stdint.h>

#include "../../../sandbox/base/fail.h"
#include "../../../sandbox/base/io.h"

#define GROUPS_PER_UNIT                                                                            \
    8u /* work-groups of one item for each compute unit: every core is busy to the end */
#define MEMORY_BYTES (64u << 20) /* far larger than the last-level cache share of two cores */
#define CACHE_BYTES_PER_ITEM                                                                       \
    (8u << 10) /* read and written again and again: stays in a core's first cache */
#define CACHE_PASSES 1024u
#define FMA_ROUNDS 65536u
#define RUNS 5

/* copy: every item moves its own share, again and again; counts bytes read plus bytes written.
 * fma: eight independent chains of 16 lanes. */
static const char source[] =
    "__kernel void copy(__global const float16 *from, __global float16 *to, uint share, uint "
    "passes) {\n"
    "  size_t first = get_global_id(0) * (size_t)share;\n"
    "  for (uint p = 0; p < passes; p++)\n"
    "    for (uint i = 0; i < share; i++) to[first + i] = from[first + i];\n"
    "}\n"
    "__kernel void multiply_add(__global float16 *to, uint rounds, float a, float b) {\n"
    "  float16 x0 = a, x1 = a + 1, x2 = a + 2, x3 = a + 3, x4 = a + 4, x5 = a + 5, x6 = a + 6, x7 "
    "= a + 7;\n"
    "  for (uint i = 0; i < rounds; i++) {\n"
    "    x0 = fma(x0, (float16)a, (float16)b); x1 = fma(x1, (float16)a, (float16)b);\n"
    "    x2 = fma(x2, (float16)a, (float16)b); x3 = fma(x3, (float16)a, (float16)b);\n"
    "    x4 = fma(x4, (float16)a, (float16)b); x5 = fma(x5, (float16)a, (float16)b);\n"
    "    x6 = fma(x6, (float16)a, (float16)b); x7 = fma(x7, (float16)a, (float16)b);\n"
    "  }\n"
    "  to[get_global_id(0)] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;\n"
    "}\n";

struct bench {
    const struct pick *pick;
    cl_program program;
    cl_kernel copy, multiply_add;
    cl_mem from, to;
    size_t items;
};

static void bench_close(struct bench *b)
{
    if (b->to)
        clReleaseMemObject(b->to);
    if (b->from)
        clReleaseMemObject(b->from);
    if (b->multiply_add)
        clReleaseKernel(b->multiply_add);
    if (b->copy)
        clReleaseKernel(b->copy);
    if (b->program)
        clReleaseProgram(b->program);
}

static int bench_open(struct bench *b)
{
    cl_uint units = 1;
    clGetDeviceInfo(b->pick->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    b->items = (size_t)units * GROUPS_PER_UNIT;
    while (b->items > 1 && b->items * CACHE_BYTES_PER_ITEM > MEMORY_BYTES)
        b->items /= 2;
    const char *text = source;
    b->program = clCreateProgramWithSource(b->pick->context, 1, &text, NULL, NULL);
    if (!b->program || clBuildProgram(b->program, 1, &b->pick->device, "", NULL, NULL))
        return -1;
    b->copy = clCreateKernel(b->program, "copy", NULL);
    b->multiply_add = clCreateKernel(b->program, "multiply_add", NULL);
    b->from = clCreateBuffer(b->pick->context, CL_MEM_READ_WRITE, MEMORY_BYTES, NULL, NULL);
    b->to = clCreateBuffer(b->pick->context, CL_MEM_READ_WRITE, MEMORY_BYTES, NULL, NULL);
    return b->copy && b->multiply_add && b->from && b->to ? 0 : -1;
}

/* Seconds of the fastest of RUNS launches, after one that is not counted; negative on failure. */
static double best_of(const struct bench *b, cl_kernel kernel)
{
    const size_t one = 1;
    double best = -1;
    for (int i = 0; i <= RUNS; i++) {
        uint64_t start = io_now();
        if (clEnqueueNDRangeKernel(b->pick->queue, kernel, 1, NULL, &b->items, &one, 0, NULL,
                                   NULL) ||
            clFinish(b->pick->queue))
            return -1;
        double seconds = (double)(io_now() - start) / (double)IO_NS_PER_S;
        if (i > 0 && (best < 0 || seconds < best))
            best = seconds;
    }
    return best;
}

static double copy_rate(const struct bench *b, size_t bytes_per_item, cl_uint passes)
{
    cl_uint share = (cl_uint)(bytes_per_item / sizeof(cl_float16));
    if (clSetKernelArg(b->copy, 0, sizeof b->from, &b->from) ||
        clSetKernelArg(b->copy, 1, sizeof b->to, &b->to) ||
        clSetKernelArg(b->copy, 2, sizeof share, &share) ||
        clSetKernelArg(b->copy, 3, sizeof passes, &passes))
        return -1;
    double seconds = best_of(b, b->copy);
    return seconds > 0
               ? 2.0 * (double)share * sizeof(cl_float16) * (double)b->items * passes / seconds
               : -1;
}

static double operation_rate(const struct bench *b)
{
    cl_uint rounds = FMA_ROUNDS;
    cl_float a = 0.999f, c = 0.001f;
    if (clSetKernelArg(b->multiply_add, 0, sizeof b->to, &b->to) ||
        clSetKernelArg(b->multiply_add, 1, sizeof rounds, &rounds) ||
        clSetKernelArg(b->multiply_add, 2, sizeof a, &a) ||
        clSetKernelArg(b->multiply_add, 3, sizeof c, &c))
        return -1;
    double seconds = best_of(b, b->multiply_add);
    return seconds > 0 ? 2.0 * 8 * 16 * (double)b->items * FMA_ROUNDS / seconds : -1;
}

json_t *ceilings_measure(const struct pick *pick, kgrade_error *err)
{
    __attribute__((cleanup(bench_close))) struct bench b = {.pick = pick};
    double memory = -1, cache = -1, operations = -1;
    if (!bench_open(&b)) {
        memory = copy_rate(&b, MEMORY_BYTES / b.items, 1);
        cache = copy_rate(&b, CACHE_BYTES_PER_ITEM, CACHE_PASSES);
        operations = operation_rate(&b);
    }
    if (memory <= 0 || cache <= 0 || operations <= 0) {
        fail(err, "device_failed", NULL, "The device's ceilings could not be measured.");
        return NULL;
    }
    return json_pack("{s:f, s:f, s:f}", "memory_bytes_per_s", memory, "cache_bytes_per_s", cache,
                     "operations_per_s", operations);
}
