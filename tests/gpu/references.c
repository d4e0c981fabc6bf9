/*
 * The tasks' references for the device: each gives what its reference.c gives, the same answer to the same sample, and a
 * sample is judged right and wrong as it is, in little time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "grader/devices/cuda/inputs.h"
#include "judge_bench.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

#define MOST_MS 50.0           /* of a large sample; it should be far below */
#define STEADY_MOST (1u << 25) /* elements of the outputs of a sample that is answered again */
#define STEADY_ROUNDS 4

static int evaluate(void *state, const struct judge_case *c, void *const *wide, kgrade_error *err)
{
    const struct bench *b = state;
    return device_reference_evaluate(&b->reference, c, wide, err);
}

/* A reference that is off in the tenth digit of one element, or by one. */
static int evaluate_wrong(void *state, const struct judge_case *c, void *const *wide,
                          kgrade_error *err)
{
    const struct bench *b = state;
    const struct layout_buffer *last = &c->layout.buffers[c->layout.n_buffers - 1];
    if (evaluate(state, c, wide, err))
        return -1;
    if (dtype_is_float(b->reference.task->params[last->param].dtype))
        ((double *)wide[c->layout.n_buffers - 1])[last->count - 1] *= 1 + 1e-9;
    else
        ((int64_t *)wide[c->layout.n_buffers - 1])[last->count - 1]++;
    return 0;
}

static int open_library(const char *task, const char *suffix)
{
    char path[512];
    snprintf(path, sizeof path, REFERENCES "/%s%s", task, suffix);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        printf("cannot open %s\n", path);
        exit(1);
    }
    return fd;
}

static void set_case(const struct task *task, const int64_t *dims, struct judge_case *c)
{
    kgrade_error err = {.code = ""};
    *c = (struct judge_case){.seed = 0x1234567890abcdefull, .poison = 99};
    memcpy(c->dims, dims, task->n_dims * sizeof *dims);
    MUST(task_layout(task, dims, &c->layout, &err));
}

/* An arena of our own, as a replayer leaves it before the call. */
static CUdeviceptr prepare(const struct bench *b, const struct task *task,
                           const struct judge_case *c)
{
    CUdeviceptr arena;
    struct launch_target target = {.stream = b->stream};
    kgrade_error err = {.code = ""};
    MUST(cuMemAlloc(&arena, c->layout.bytes));
    MUST(inputs_queue(&b->reference.kernels, &target, arena, task, &c->layout, c->seed, c->poison,
                      &err));
    MUST(cuStreamSynchronize(b->stream));
    return arena;
}

/* What a right kernel would have written. */
static void write_right(const struct bench *b, const struct task *task, const struct judge_case *c,
                        CUdeviceptr arena)
{
    cleanup_operands struct operands expected = {.n = 0};
    kgrade_error err = {.code = ""};
    bool changed;
    MUST(host_evaluate(&b->host, c, NULL, NULL, &expected, &changed, &err));
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *buffer = &c->layout.buffers[i];
        enum dtype type = task->params[buffer->param].dtype;
        if (task->params[buffer->param].kind == PARAM_IN)
            continue;
        uint8_t *narrow = malloc(buffer->bytes + 1);
        for (uint64_t k = 0; k < buffer->count; k++)
            dtype_store_double(type, narrow, k, ((const double *)expected.wide[i])[k]);
        upload(arena + buffer->offset, narrow, buffer->bytes);
        free(narrow);
    }
}

static void judge(const struct bench *b, const struct judge_case *c, CUdeviceptr arena,
                  bool *ret_changed, struct comparison *ret)
{
    struct device_outputs *kept;
    kgrade_error err = {.code = ""};
    MUST(device_reference_keep(&b->reference, c, arena, &kept, ret_changed, &err));
    MUST(device_reference_compare(&b->reference, c, kept, ret, &err));
    device_reference_drop(&b->reference, kept);
}

/* The built-in tasks have their output last. */
static void check_sample(struct bench *b, const struct task *task, const int64_t *dims)
{
    struct judge_case c;
    struct comparison r[TASK_MAX_PARAMS];
    bool changed;
    set_case(task, dims, &c);
    CUdeviceptr arena = prepare(b, task, &c);
    size_t out = c.layout.n_buffers - 1;
    const struct layout_buffer *output = &c.layout.buffers[out];
    uint64_t place = output->count / 3;

    judge(b, &c, arena, &changed, r);
    check(b,
          !changed && r[out].count == output->count && r[out].unwritten == r[out].bad &&
              r[out].bad > output->count / 2,
          "nothing written", task->name);
    write_right(b, task, &c, arena);
    judge(b, &c, arena, &changed, r);
    check(b, !changed && comparison_passes(&r[out]) && r[out].norm < 1e-6, "a right answer",
          task->name);
    set_byte(arena + output->offset + place * 4 + 3, 0x44);
    judge(b, &c, arena, &changed, r);
    check(b, !changed && r[out].bad == 1 && r[out].worst_index == place, "one wrong element",
          task->name);
    set_byte(arena + c.layout.buffers[0].offset + c.layout.buffers[0].bytes - 1, 0x11);
    judge(b, &c, arena, &changed, r);
    check(b, changed, "a changed input", task->name);
    cuMemFree(arena);
}

static void time_sample(struct bench *b, const struct task *task, const int64_t *dims)
{
    struct judge_case c;
    struct comparison r[TASK_MAX_PARAMS];
    struct device_outputs *kept;
    double ms[2] = {0, 0};
    bool changed;
    kgrade_error err = {.code = ""};
    set_case(task, dims, &c);
    CUdeviceptr arena = prepare(b, task, &c);
    for (int round = 0; round < 2; round++) { /* the first fills the pool of memory */
        uint64_t start = io_now();
        MUST(device_reference_keep(&b->reference, &c, arena, &kept, &changed, &err));
        uint64_t middle = io_now();
        MUST(device_reference_compare(&b->reference, &c, kept, r, &err));
        ms[0] = (double)(middle - start) / 1e6;
        ms[1] = (double)(io_now() - middle) / 1e6;
        device_reference_drop(&b->reference, kept);
    }
    printf("%-10s %11llu elements: %7.2f ms to keep, %7.2f ms to judge\n", task->name,
           (unsigned long long)c.layout.buffers[c.layout.n_buffers - 1].count, ms[0], ms[1]);
    check(b, ms[0] + ms[1] < MOST_MS, "time", task->name);
    cuMemFree(arena);
}

/* The outputs of a case as the reference for the device gives them, one after the other.  The caller frees them. */
static double *outputs_of(struct bench *b, const struct task *task, const struct judge_case *c,
                          size_t *ret_n)
{
    void *wide[TASK_MAX_PARAMS] = {NULL};
    kgrade_error err = {.code = ""};
    size_t n = 0;
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        if (task->params[c->layout.buffers[i].param].kind != PARAM_IN)
            n += c->layout.buffers[i].count;
    double *all = calloc(n + 1, sizeof *all), *next = all;
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        if (task->params[c->layout.buffers[i].param].kind != PARAM_IN) {
            wide[i] = next;
            next += c->layout.buffers[i].count;
        }
    MUST(device_reference_evaluate(&b->reference, c, wide, &err));
    *ret_n = n;
    return all;
}

static uint64_t output_count(const struct task *task, const struct layout *layout)
{
    uint64_t n = 0;
    for (size_t i = 0; i < layout->n_buffers; i++)
        if (task->params[layout->buffers[i].param].kind != PARAM_IN)
            n += layout->buffers[i].count;
    return n;
}

/* The same sample again must have the same answer: a barrier that is missing shows at many blocks only, where the reference in C is
 * too slow to tell. */
static void check_steady(struct bench *b, const struct task *task)
{
    struct judge_case c = {.seed = 0};
    uint64_t largest = 0;
    for (size_t i = 0; i < task->n_cases; i++) {
        struct judge_case one;
        if (!task_devices_include(task->cases[i].devices, "cuda"))
            continue;
        set_case(task, task->cases[i].dims, &one);
        uint64_t n = output_count(task, &one.layout);
        if (n >= largest && n <= STEADY_MOST) {
            largest = n;
            c = one;
        }
    }
    size_t n, differ = 0;
    double *first = outputs_of(b, task, &c, &n);
    for (int round = 1; round < STEADY_ROUNDS; round++) {
        double *again = outputs_of(b, task, &c, &n);
        differ += memcmp(first, again, n * sizeof *first) != 0;
        free(again);
    }
    free(first);
    check(b, differ == 0, "the same answer to the same sample", task->name);
}

static void check_reference(struct bench *b, const struct task *task)
{
    static const struct judge_reference reference = {.evaluate = evaluate};
    static const struct judge_reference wrong = {.evaluate = evaluate_wrong};
    static const struct judge_device device = {.name = "cuda", .reference = &reference};
    static const struct judge_device wrong_device = {.name = "cuda", .reference = &wrong};
    kgrade_error err = {.code = ""};
    bool agree = !host_check_device(&b->host, &device, b, &err);
    check(b, agree, task->name, err.message);
    bool caught = host_check_device(&b->host, &wrong_device, b, &err) &&
                  !strcmp(err.code, "reference_disagrees");
    check(b, caught, "a reference that disagrees", task->name);
    check_steady(b, task);
}

/* Sizes that the built-in tasks do not have; the figures of the largest are printed. */
static const struct sizes {
    const char *task;
    int64_t small[3], large[3];
} sizes[] = {{"vector_add", {100003}, {67108864}},
             {"softmax", {33, 1001}, {4096, 32768}},
             {"matmul", {131, 67, 45}, {4096, 4096, 4096}}};

static void check_task(struct bench *b, const char *name)
{
    char folder[512];
    struct task *task;
    kgrade_error err = {.code = ""};
    snprintf(folder, sizeof folder, KGRADE_SOURCE_DIR "/tasks/%s", name);
    MUST(task_load(folder, &task, &err));
    int on_host = open_library(name, ".so"), on_device = open_library(name, ".cuda.so");
    MUST(host_reference_load(&b->host, task, on_host, &err) ||
         device_reference_open(&b->reference, &b->context, b->stream, task, on_device, &err));
    check_reference(b, task);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (!strcmp(sizes[i].task, name)) {
            check_sample(b, task, sizes[i].small);
            time_sample(b, task, sizes[i].large);
        }
    device_reference_close(&b->reference);
    host_reference_free(&b->host);
    close(on_host);
    close(on_device);
    task_free(task);
}

int main(void)
{
    static const char *const tasks[] = {REFERENCE_TASKS};
    static struct bench b;
    if (!have_card())
        return SKIPPED;
    bench_open(&b);
    device_reference_ready_memory(&b.context, b.stream);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        check_task(&b, tasks[i]);
    return bench_close(&b, "references");
}
