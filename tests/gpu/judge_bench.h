/* What the tests of the judge on the device share: a context, checks that are counted, copies that are waited for. */
#ifndef KGRADE_TESTS_GPU_JUDGE_BENCH_H
#define KGRADE_TESTS_GPU_JUDGE_BENCH_H

#include <stdlib.h>

#include "card.h"
#include "grader/devices/cuda/judge_reference.h"
#include "grader/judge/host.h"

struct bench {
    struct driver_context context;
    CUstream stream;
    struct comparer comparer;
    struct device_reference reference; /* of the present task */
    struct host_reference host;
    int checks, wrong;
};

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (call) {                                                                                \
            printf("line %d: " #call " failed: %s\n", __LINE__, err.message);                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void check(struct bench *b, bool right, const char *what, const char *detail)
{
    b->checks++;
    if (!right) {
        b->wrong++;
        printf("wrong: %s (%s)\n", what, detail);
    }
}

/* A copy from pageable memory and a fill may return before the device has them, and the stream under test waits for
 * neither. */
static inline void upload(CUdeviceptr to, const void *from, size_t bytes)
{
    kgrade_error err = {.code = ""};
    if (bytes)
        MUST(cuMemcpyHtoD(to, from, bytes) || cuCtxSynchronize());
}

static inline void set_byte(CUdeviceptr at, unsigned char value)
{
    kgrade_error err = {.code = ""};
    MUST(cuMemsetD8(at, value, 1) || cuCtxSynchronize());
}

static inline void bench_open(struct bench *b)
{
    kgrade_error err = {.code = ""};
    MUST(driver_open(&b->context, CU_CTX_SCHED_BLOCKING_SYNC, &err));
    MUST(cuStreamCreate(&b->stream, CU_STREAM_NON_BLOCKING));
    MUST(comparer_open(&b->comparer, b->stream, &err));
}

/* The last line, and the program's status. */
static inline int bench_close(struct bench *b, const char *name)
{
    comparer_close(&b->comparer);
    printf("%s: %d of %d checks failed\n", name, b->wrong, b->checks);
    return b->wrong != 0;
}

#endif
