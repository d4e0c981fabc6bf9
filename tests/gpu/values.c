/* What the device makes from a seed is, bit for bit, what the CPU makes: values, poison, canaries of every type. */
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "grader/devices/cuda/inputs.h"
#include "grader/task/values.h"

#define MAX_COUNT 300000u
#define MAX_BYTES (MAX_COUNT * 8 + 2 * LAYOUT_PAGE)

static const struct distribution distributions[] = {
    {.kind = DISTRIBUTION_UNIFORM, .scale = 2, .offset = -1},
    {.kind = DISTRIBUTION_UNIFORM, .scale = 1e5, .offset = 0.3},
    {.kind = DISTRIBUTION_NORMAL, .scale = 1},
    {.kind = DISTRIBUTION_NORMAL, .scale = 2, .offset = 100},
    {.kind = DISTRIBUTION_NORMAL, .scale = 1e-6},
    {.kind = DISTRIBUTION_INTEGER, .scale = 1, .low = -5, .high = 100},
    {.kind = DISTRIBUTION_INTEGER, .scale = 1, .low = INT64_MIN, .high = INT64_MAX},
    {.kind = DISTRIBUTION_PERMUTATION, .scale = 1},
    {.kind = DISTRIBUTION_SORTED, .scale = 1000, .offset = -500},
};

struct bench {
    struct kernels kernels;
    CUstream stream;
    CUdeviceptr memory;
    uint8_t *got, *expected;
};

static int differ(const struct bench *b, const struct task *task, const struct layout *layout,
                  uint64_t seed, uint64_t poison)
{
    const struct layout_buffer *buffer = &layout->buffers[0];
    const struct param *param = &task->params[0];
    struct launch_target target = {.stream = b->stream};
    kgrade_error err = {.code = ""};
    memset(b->expected, 0xa5, MAX_BYTES);
    if (cuMemsetD8Async(b->memory, 0xa5, MAX_BYTES, b->stream) ||
        inputs_queue(&b->kernels, &target, b->memory, task, layout, seed, poison, &err) ||
        cuStreamSynchronize(b->stream) || cuMemcpyDtoH(b->got, b->memory, MAX_BYTES)) {
        printf("the device failed: %s\n", err.message);
        exit(1);
    }
    if (param->kind == PARAM_OUT)
        values_poison(b->expected, param->dtype, 0, (size_t)buffer->count, poison, 0);
    else
        values_fill(b->expected, param->dtype, 0, (size_t)buffer->count, buffer->count,
                    &buffer->values, seed, 0);
    values_canary(b->expected + buffer->bytes, (size_t)buffer->canary, poison, 0);
    return memcmp(b->got, b->expected, MAX_BYTES) != 0;
}

static size_t first_difference(const struct bench *b)
{
    size_t at = 0;
    while (at < MAX_BYTES && b->got[at] == b->expected[at])
        at++;
    return at;
}

static int check(const struct bench *b, enum dtype dtype, enum param_kind kind,
                 const struct distribution *values, uint64_t count, uint64_t seed)
{
    struct task task = {.n_params = 1};
    struct layout layout = {.n_buffers = 1};
    task.params[0].kind = kind;
    task.params[0].dtype = dtype;
    layout.buffers[0] = (struct layout_buffer){.count = count,
                                               .bytes = count * dtype_size(dtype),
                                               .values = *values,
                                               .canary = LAYOUT_CANARY + count % LAYOUT_PAGE};
    if (!differ(b, &task, &layout, seed, ~seed))
        return 0;
    printf("%s, kind %d, distribution %d, %llu elements, seed %llx: differs at byte %zu\n",
           dtype_name(dtype), (int)kind, (int)values->kind, (unsigned long long)count,
           (unsigned long long)seed, first_difference(b));
    return 1;
}

int main(void)
{
    static const uint64_t counts[] = {1, 3, 255, 4097, MAX_COUNT};
    struct driver_context context;
    struct bench b = {.got = malloc(MAX_BYTES), .expected = malloc(MAX_BYTES)};
    kgrade_error err = {.code = ""};
    int checks = 0, wrong = 0;
    if (!have_card())
        return SKIPPED;
    if (driver_open(&context, CU_CTX_SCHED_AUTO, &err) ||
        kernels_open(&b.kernels, &context, &err)) {
        printf("%s\n", err.message);
        return 1;
    }
    if (cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&b.memory, MAX_BYTES))
        return 1;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            uint64_t seed = 0x9e3779b97f4a7c15ull * (uint64_t)(dtype + 1) + c;
            for (size_t d = 0; d < sizeof distributions / sizeof distributions[0]; d++, checks++)
                wrong += check(&b, (enum dtype)dtype, PARAM_IN, &distributions[d], counts[c], seed);
            wrong += check(&b, (enum dtype)dtype, PARAM_OUT, &distributions[0], counts[c], seed);
            checks++;
        }
    printf("values: %d of %d blocks differ between device and CPU\n", wrong, checks);
    return wrong != 0;
}
