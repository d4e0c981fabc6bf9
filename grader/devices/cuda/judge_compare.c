#include "judge_compare.h"

#include <math.h>
#include <stdlib.h>

#include "../../../sandbox/base/fail.h"

/* The compiled kernels for every architecture that is supported, as the build made them. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl kgrade_cuda_judge_kernels\n"
        ".hidden kgrade_cuda_judge_kernels\n"
        "kgrade_cuda_judge_kernels:\n"
        ".incbin \"" KGRADE_CUDA_JUDGE_KERNELS "\"\n"
        ".balign 16\n"
        ".quad 0\n"
        ".previous\n");
extern const unsigned char kgrade_cuda_judge_kernels[];

#define MAX_BLOCKS 1024u /* enough to fill a device; threads take turns at what is more */

static int find(struct comparer *c, kgrade_error *err)
{
    DRIVER_TRY(err, cuModuleLoadData(&c->module, kgrade_cuda_judge_kernels));
    DRIVER_TRY(err, cuModuleGetFunction(&c->differ, c->module, "kgrade_differ"));
    DRIVER_TRY(err, cuModuleGetFunction(&c->widen, c->module, "kgrade_widen"));
    DRIVER_TRY(err, cuModuleGetFunction(&c->compare, c->module, "kgrade_compare"));
    DRIVER_TRY(err, cuMemAlloc(&c->results, MAX_BLOCKS * sizeof *c->got));
    c->got = malloc(MAX_BLOCKS * sizeof *c->got);
    return c->got ? 0 : fail(err, "out_of_memory", NULL, "No memory for a comparison.");
}

int comparer_open(struct comparer *ret, CUstream stream, kgrade_error *err)
{
    struct comparer c = {.stream = stream};
    if (find(&c, err)) {
        comparer_close(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

void comparer_close(struct comparer *c)
{
    free(c->got);
    if (c->results)
        cuMemFree(c->results);
    if (c->module)
        cuModuleUnload(c->module);
    *c = (struct comparer){.module = NULL};
}

static unsigned int blocks_for(uint64_t items)
{
    uint64_t wanted = (items + JUDGE_THREADS - 1) / JUDGE_THREADS;
    return wanted == 0 ? 1 : wanted < MAX_BLOCKS ? (unsigned int)wanted : MAX_BLOCKS;
}

static int launch(const struct comparer *c, CUfunction function, unsigned int blocks,
                  void **arguments, kgrade_error *err)
{
    DRIVER_TRY(err, cuLaunchKernel(function, blocks, 1, 1, JUDGE_THREADS, 1, 1, 0, c->stream,
                                   arguments, NULL));
    return 0;
}

int comparer_same(const struct comparer *c, CUdeviceptr a, CUdeviceptr b, uint64_t bytes, bool *ret,
                  kgrade_error *err)
{
    uint32_t differs = 1;
    CUdeviceptr flag = c->results;
    void *arguments[] = {&a, &b, &bytes, &flag};
    DRIVER_TRY(err, cuMemsetD32Async(flag, 0, 1, c->stream));
    if (launch(c, c->differ, blocks_for(bytes / 16), arguments, err))
        return -1;
    DRIVER_TRY(err, cuMemcpyDtoHAsync(&differs, flag, sizeof differs, c->stream));
    DRIVER_TRY(err, cuStreamSynchronize(c->stream));
    *ret = !differs;
    return 0;
}

int comparer_widen(const struct comparer *c, enum dtype type, CUdeviceptr from, CUdeviceptr to,
                   uint64_t count, kgrade_error *err)
{
    uint32_t dtype = (uint32_t)type;
    void *arguments[] = {&from, &to, &count, &dtype};
    return launch(c, c->widen, blocks_for(count), arguments, err);
}

/* As judge/compare.c goes about it, block by block instead of element by element. */
static bool is_worse(const struct compare_part *a, const struct compare_part *b)
{
    if (a->excess > b->excess || a->excess < b->excess)
        return a->excess > b->excess;
    if (isinf(a->excess) && (a->error > b->error || a->error < b->error))
        return a->error > b->error;
    return a->excess >= 0 && a->index < b->index;
}

static void sum_up(const struct compare_part *parts, unsigned int n, uint64_t count,
                   const struct tolerance *tolerance, struct comparison *ret)
{
    struct comparison r = {.count = count, .norm_ok = true};
    const struct compare_part *worst = &parts[0];
    double difference2 = 0, expected2 = 0;
    for (unsigned int i = 0; i < n; i++) {
        r.bad += parts[i].bad;
        r.nan += parts[i].nan;
        r.unwritten += parts[i].unwritten;
        difference2 += parts[i].difference2;
        expected2 += parts[i].expected2;
        if (is_worse(&parts[i], worst))
            worst = &parts[i];
    }
    r.worst_index = worst->index;
    r.worst_error = worst->error;
    r.worst_expected = worst->expected;
    r.worst_got = worst->got;
    r.norm = expected2 > 0 ? sqrt(difference2 / expected2) : sqrt(difference2);
    if (tolerance)
        r.norm_ok = r.norm <= (expected2 > 0 ? tolerance->norm : tolerance->absolute);
    *ret = r;
}

int comparer_output(const struct comparer *c, enum dtype type, CUdeviceptr got, CUdeviceptr poison,
                    CUdeviceptr expected, uint64_t count, const struct tolerance *tolerance,
                    struct comparison *ret, kgrade_error *err)
{
    struct compare_arguments a = {
        .got = got,
        .poison = poison,
        .expected = expected,
        .count = count,
        .parts = c->results,
        .absolute = tolerance ? tolerance->absolute : 0,
        .relative = tolerance ? tolerance->relative : 0,
        .dtype = (uint32_t)type,
        .is_exact = tolerance == NULL,
    };
    void *arguments[] = {&a};
    unsigned int blocks = blocks_for(count);
    if (launch(c, c->compare, blocks, arguments, err))
        return -1;
    DRIVER_TRY(err, cuMemcpyDtoHAsync(c->got, c->results, blocks * sizeof *c->got, c->stream));
    DRIVER_TRY(err, cuStreamSynchronize(c->stream));
    sum_up(c->got, blocks, count, tolerance, ret);
    return 0;
}

int comparer_around(const struct comparer *c, enum dtype type, CUdeviceptr got,
                    CUdeviceptr expected, struct comparison *ret, kgrade_error *err)
{
    double wide[COMPARE_AROUND];
    int64_t exact[COMPARE_AROUND];
    uint8_t narrow[COMPARE_AROUND * sizeof(double)];
    bool is_float = dtype_is_float(type);
    uint64_t first = compare_around_first(ret->worst_index);
    uint64_t rest = ret->count - first;
    size_t n = rest < COMPARE_AROUND ? (size_t)rest : COMPARE_AROUND, size = dtype_size(type);
    if (comparison_passes(ret) || n == 0)
        return 0;
    DRIVER_TRY(err, cuMemcpyDtoHAsync(narrow, got + first * size, n * size, c->stream));
    DRIVER_TRY(err, cuMemcpyDtoHAsync(is_float ? (void *)wide : exact, expected + first * 8, n * 8,
                                      c->stream));
    DRIVER_TRY(err, cuStreamSynchronize(c->stream));
    ret->around_first = first;
    ret->n_around = n;
    for (size_t i = 0; i < n; i++) {
        ret->around_expected[i] = is_float ? wide[i] : (double)exact[i];
        ret->around_got[i] = dtype_load_double(type, narrow, i);
    }
    return 0;
}
