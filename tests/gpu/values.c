/* What the device makes from a seed is, bit for bit, what the CPU makes: values, poison, canaries of every type. */
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "grader/devices/cuda/inputs.h"
#include "grader/task/values.h"

#define PLACE 3            /* of the buffer's parameter */
#define MAX_COUNT 2500003u /* more than all threads of a card draw at a time */
#define MAX_BYTES (MAX_COUNT * 8 + 3 * LAYOUT_PAGE)
#define BORDER (1ull << 32) /* where the counters' second word begins to count */
#define AROUND 4096u        /* elements before and behind the border */

static const struct distribution distributions[] = {
    {.kind = DISTRIBUTION_UNIFORM, .scale = 2, .offset = -1},
    {.kind = DISTRIBUTION_UNIFORM, .scale = 1e5, .offset = 0.3},
    {.kind = DISTRIBUTION_UNIFORM, .scale = 7e38, .offset = -3.5e38}, /* some are no floats */
    {.kind = DISTRIBUTION_NORMAL, .scale = 1},
    {.kind = DISTRIBUTION_NORMAL, .scale = 2, .offset = 100},
    {.kind = DISTRIBUTION_NORMAL, .scale = 0.01}, /* subnormal as f8e4m3 */
    {.kind = DISTRIBUTION_NORMAL, .scale = 1e-6},
    {.kind = DISTRIBUTION_NORMAL, .scale = 3e-39}, /* subnormal as f32 */
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

/* Makes the buffer at `memory`. */
static void draw(const struct bench *b, CUdeviceptr memory, enum dtype dtype, enum param_kind kind,
                 const struct layout_buffer *buffer, uint64_t seed, uint64_t poison)
{
    struct task task = {.n_params = PLACE + 1};
    struct layout layout = {.n_buffers = 1, .buffers = {*buffer}};
    struct launch_target target = {.stream = b->stream};
    kgrade_error err = {.code = ""};
    task.params[PLACE].kind = kind;
    task.params[PLACE].dtype = dtype;
    if (inputs_queue(&b->kernels, &target, memory, &task, &layout, seed, poison, &err) ||
        cuStreamSynchronize(b->stream)) {
        printf("the device failed: %s\n", err.message);
        exit(1);
    }
}

static void copy(const struct bench *b, CUdeviceptr from, size_t bytes)
{
    if (cuMemcpyDtoH(b->got, from, bytes)) {
        printf("the device failed: copying its values\n");
        exit(1);
    }
}

static struct layout_buffer buffer_of(enum dtype dtype, const struct distribution *values,
                                      uint64_t count)
{
    return (struct layout_buffer){.param = PLACE,
                                  .count = count,
                                  .bytes = count * dtype_size(dtype),
                                  .values = *values,
                                  .canary = LAYOUT_CANARY + count % LAYOUT_PAGE};
}

static int compare(const struct bench *b, size_t bytes, enum dtype dtype, enum param_kind kind,
                   const struct layout_buffer *buffer, uint64_t seed)
{
    size_t at = 0;
    if (memcmp(b->got, b->expected, bytes) == 0)
        return 0;
    while (b->got[at] == b->expected[at])
        at++;
    printf("%s, kind %d, distribution %d, %llu elements, seed %llx: differs at byte %zu\n",
           dtype_name(dtype), (int)kind, (int)buffer->values.kind,
           (unsigned long long)buffer->count, (unsigned long long)seed, at);
    return 1;
}

static int check(const struct bench *b, enum dtype dtype, enum param_kind kind,
                 const struct distribution *values, uint64_t count, uint64_t seed)
{
    struct layout_buffer buffer = buffer_of(dtype, values, count);
    size_t bytes = (size_t)(buffer.bytes + buffer.canary + LAYOUT_PAGE);
    memset(b->expected, 0xa5, bytes);
    if (cuMemsetD8Async(b->memory, 0xa5, bytes, b->stream))
        exit(1);
    draw(b, b->memory, dtype, kind, &buffer, seed, ~seed);
    copy(b, b->memory, bytes);
    if (kind == PARAM_OUT)
        values_poison(b->expected, dtype, 0, (size_t)count, ~seed, PLACE);
    else
        values_fill(b->expected, dtype, 0, (size_t)count, count, values, seed, PLACE);
    values_canary(b->expected + buffer.bytes, (size_t)buffer.canary, ~seed, PLACE);
    return compare(b, bytes, dtype, kind, &buffer, seed);
}

/* The end of a buffer of one-byte elements that reaches past the border. */
static int check_border(const struct bench *b, CUdeviceptr memory, enum dtype dtype,
                        const struct distribution *values, uint64_t seed)
{
    struct layout_buffer buffer = buffer_of(dtype, values, BORDER + AROUND + 1);
    size_t elements = 2 * AROUND + 1, bytes = elements + (size_t)buffer.canary;
    draw(b, memory, dtype, PARAM_IN, &buffer, seed, ~seed);
    copy(b, memory + BORDER - AROUND, bytes);
    values_fill(b->expected, dtype, BORDER - AROUND, elements, buffer.count, values, seed, PLACE);
    values_canary(b->expected + elements, (size_t)buffer.canary, ~seed, PLACE);
    return compare(b, bytes, dtype, PARAM_IN, &buffer, seed);
}

/* Types that are drawn in runs and one by one. */
static int check_borders(const struct bench *b, int *checks)
{
    static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .scale = 1},
                                     uniform = {.kind = DISTRIBUTION_UNIFORM, .scale = 200};
    CUdeviceptr memory;
    if (cuMemAlloc(&memory, BORDER + AROUND + 1 + LAYOUT_CANARY + 2 * LAYOUT_PAGE)) {
        printf("left out: the card has no 4 GiB to spare for a buffer of 2^32 elements\n");
        return 0;
    }
    int wrong = check_border(b, memory, DTYPE_F8E4M3, &normal, 11) +
                check_border(b, memory, DTYPE_F8E4M3, &uniform, 12) +
                check_border(b, memory, DTYPE_U8, &uniform, 13);
    *checks += 3;
    cuMemFree(memory);
    return wrong;
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
    wrong += check_borders(&b, &checks);
    printf("values: %d of %d blocks differ between device and CPU\n", wrong, checks);
    return wrong != 0;
}
