/*
 * The judge on the device: its comparison gives the figures of judge/compare.c, every task's reference for the device gives
 * what its reference.c gives, a sample is judged right and wrong as it is, and that in little time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "grader/devices/cuda/inputs.h"
#include "grader/devices/cuda/judge_reference.h"
#include "grader/judge/host.h"
#include "grader/task/values.h"
#include "sandbox/base/io.h"

#define MAX_COUNT 300000u
#define NORM_PRECISION 1e-12   /* sums in another order */
#define MOST_MS 50.0           /* of a large sample; it should be far below */
#define STEADY_MOST (1u << 25) /* elements of the outputs of a sample that is answered again */
#define STEADY_ROUNDS 4

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

static void check(struct bench *b, bool right, const char *what, const char *detail)
{
    b->checks++;
    if (!right) {
        b->wrong++;
        printf("wrong: %s (%s)\n", what, detail);
    }
}

/* --- figures --- */

static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)) || (!(a < b) && !(a > b));
}

static bool same_figures(const struct comparison *a, const struct comparison *b)
{
    bool norm =
        same_number(a->norm, b->norm) || fabs(a->norm - b->norm) <= NORM_PRECISION * b->norm;
    return a->count == b->count && a->bad == b->bad && a->nan == b->nan &&
           a->unwritten == b->unwritten && a->norm_ok == b->norm_ok && norm &&
           a->worst_index == b->worst_index && same_number(a->worst_error, b->worst_error) &&
           same_number(a->worst_expected, b->worst_expected) &&
           same_number(a->worst_got, b->worst_got);
}

static void print_figures(const char *who, const struct comparison *c)
{
    printf(
        "  %s: count %llu bad %llu nan %llu unwritten %llu norm %.17g (%d) worst %llu: error %g, "
        "expected %.17g, got %.17g\n",
        who, (unsigned long long)c->count, (unsigned long long)c->bad, (unsigned long long)c->nan,
        (unsigned long long)c->unwritten, c->norm, c->norm_ok, (unsigned long long)c->worst_index,
        c->worst_error, c->worst_expected, c->worst_got);
}

/* A copy from pageable memory and a fill may return before the device has them, and the stream under test waits for
 * neither. */
static void upload(CUdeviceptr to, const void *from, size_t bytes)
{
    kgrade_error err = {.code = ""};
    if (bytes)
        MUST(cuMemcpyHtoD(to, from, bytes) || cuCtxSynchronize());
}

static void set_byte(CUdeviceptr at, unsigned char value)
{
    kgrade_error err = {.code = ""};
    MUST(cuMemsetD8(at, value, 1) || cuCtxSynchronize());
}

struct arrays {
    enum dtype type;
    uint64_t count;
    uint8_t got[MAX_COUNT * 8], poison[MAX_COUNT * 8];
    int64_t expected[MAX_COUNT]; /* or doubles */
    CUdeviceptr device[3];
};

static void compare_both(struct bench *b, const struct arrays *a, const struct tolerance *tolerance,
                         bool poisoned, const char *what)
{
    struct comparison device, host;
    kgrade_error err = {.code = ""};
    size_t bytes = (size_t)a->count * dtype_size(a->type);
    upload(a->device[0], a->got, bytes);
    upload(a->device[1], a->poison, bytes);
    upload(a->device[2], a->expected, a->count * 8);
    MUST(comparer_output(&b->comparer, a->type, a->device[0], poisoned ? a->device[1] : 0,
                         a->device[2], a->count, tolerance, &device, &err));
    compare_output(a->type, a->got, poisoned ? a->poison : NULL, a->expected, a->count, tolerance,
                   &host);
    bool same = same_figures(&device, &host);
    char detail[96];
    snprintf(detail, sizeof detail, "%s, %llu elements, %s", dtype_name(a->type),
             (unsigned long long)a->count, tolerance ? "tolerance" : "exact");
    check(b, same, what, detail);
    if (!same) {
        print_figures("device", &device);
        print_figures("host  ", &host);
    }
}

static void set_expected(struct arrays *a, uint64_t i, double value)
{
    if (dtype_is_float(a->type))
        memcpy(&a->expected[i], &value, sizeof value);
    else
        a->expected[i] = (int64_t)value;
}

/* Right everywhere, but for rounding. */
static void fill_right(struct arrays *a, enum dtype type, uint64_t count, uint64_t seed)
{
    const struct distribution uniform = {
        .kind = DISTRIBUTION_UNIFORM, .scale = 40, .offset = type == DTYPE_BOOL ? 0 : -20};
    const struct distribution integers = {
        .kind = DISTRIBUTION_INTEGER, .scale = 1, .low = 0, .high = type == DTYPE_BOOL ? 1 : 100};
    static double values[MAX_COUNT];
    bool is_float = dtype_is_float(type);
    a->type = type;
    a->count = count;
    values_fill(values, DTYPE_F64, 0, count, count, is_float ? &uniform : &integers, seed, 0);
    values_poison(a->poison, type, 0, count, ~seed, 0);
    for (uint64_t i = 0; i < count; i++) {
        set_expected(a, i, values[i]);
        dtype_store_double(type, a->got, i, values[i]);
    }
}

static void spoil(struct arrays *a, uint64_t seed)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN, 0, -0.0, 1e300, -3, 60};
    size_t size = dtype_size(a->type), n = sizeof odd / sizeof odd[0];
    uint32_t key[2] = {(uint32_t)seed, 7}, r[4];
    for (uint32_t k = 0; k < 40; k++) {
        uint32_t counter[4] = {k, 0, 0, 0};
        values_philox(counter, key, r);
        uint64_t i = r[0] % a->count;
        if (r[1] % 3 == 0)
            dtype_store_double(a->type, a->got, i, odd[r[2] % n]);
        if (r[1] % 4 == 0 && (dtype_is_float(a->type) || isfinite(odd[r[3] % n])))
            set_expected(a, i,
                         odd[r[3] % n] > 1e200 && !dtype_is_float(a->type) ? 7 : odd[r[3] % n]);
        if (r[1] % 5 == 0)
            memcpy(a->got + i * size, a->poison + i * size, size);
    }
}

static void check_type(struct bench *b, struct arrays *a, enum dtype type, uint64_t count,
                       uint64_t seed)
{
    static const struct tolerance loose = {.absolute = 0.1, .relative = 0.05, .norm = 1e-2};
    static const struct tolerance relative = {.relative = 1e-6, .norm = 1e-6};
    fill_right(a, type, count, seed);
    compare_both(b, a, &loose, true, "right");
    compare_both(b, a, NULL, true, "right, compared exactly");
    if (count == 0)
        return;
    spoil(a, seed);
    compare_both(b, a, &loose, true, "spoilt");
    compare_both(b, a, &relative, true, "spoilt, relative tolerance");
    compare_both(b, a, NULL, true, "spoilt, compared exactly");
    compare_both(b, a, &loose, false, "spoilt, no poison");
    memcpy(a->got, a->poison, count * dtype_size(type));
    compare_both(b, a, &loose, true, "unwritten");
    /* Equal errors everywhere: the first counts. */
    for (uint64_t i = 0; i < count; i++) {
        set_expected(a, i, 1);
        dtype_store_double(type, a->got, i, i < count / 2 ? 1 : 0);
    }
    compare_both(b, a, &loose, true, "ties");
    compare_both(b, a, NULL, true, "ties, compared exactly");
}

static void check_wide_integers(struct bench *b, struct arrays *a)
{
    a->type = DTYPE_I64;
    a->count = 1000;
    memset(a->poison, 0, a->count * 8);
    for (uint64_t i = 0; i < a->count; i++) {
        int64_t value = (int64_t)(9007199254740992 + i * 2), got = value + (i % 10 == 3);
        a->expected[i] = value;
        memcpy(a->got + i * 8, &got, 8);
    }
    compare_both(b, a, NULL, true, "integers that a double cannot tell apart");
}

static void check_figures(struct bench *b)
{
    static const uint64_t counts[] = {0, 1, 255, 5003, MAX_COUNT};
    static struct arrays a;
    kgrade_error err = {.code = ""};
    for (int i = 0; i < 3; i++)
        MUST(cuMemAlloc(&a.device[i], MAX_COUNT * 8));
    for (int type = 0; type < DTYPE_COUNT; type++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            check_type(b, &a, (enum dtype)type, counts[c],
                       0x51ed270b27a3ull * (uint64_t)(type + 1) + c);
    check_wide_integers(b, &a);
    for (int i = 0; i < 3; i++)
        cuMemFree(a.device[i]);
}

static void check_widening(struct bench *b)
{
    enum { COUNT = 5003 };
    static uint8_t narrow[COUNT * 8];
    static int64_t device[COUNT], host[COUNT];
    CUdeviceptr from, to;
    kgrade_error err = {.code = ""};
    MUST(cuMemAlloc(&from, sizeof narrow) || cuMemAlloc(&to, sizeof device));
    for (int type = 0; type < DTYPE_COUNT; type++) {
        /* Random bits: every kind of number, and what is none. */
        values_canary(narrow, sizeof narrow, 77, (uint32_t)type);
        upload(from, narrow, sizeof narrow);
        MUST(comparer_widen(&b->comparer, (enum dtype)type, from, to, COUNT, &err));
        MUST(cuStreamSynchronize(b->stream));
        MUST(cuMemcpyDtoH(device, to, sizeof device));
        dtype_widen((enum dtype)type, narrow, COUNT, host);
        size_t differ = 0;
        for (size_t i = 0; i < COUNT; i++) {
            double x, y;
            memcpy(&x, &device[i], sizeof x);
            memcpy(&y, &host[i], sizeof y);
            bool both_nan = dtype_is_float((enum dtype)type) && isnan(x) && isnan(y);
            differ += device[i] != host[i] && !both_nan;
        }
        check(b, differ == 0, "widening", dtype_name((enum dtype)type));
    }
    cuMemFree(from);
    cuMemFree(to);
}

static void check_sameness(struct bench *b)
{
    enum { BYTES = 1000003 };
    static const size_t places[] = {0, 15, 16, 4096, 999999, 1000000, 1000002};
    static uint8_t data[BYTES];
    CUdeviceptr x, y;
    kgrade_error err = {.code = ""};
    bool same;
    MUST(cuMemAlloc(&x, BYTES) || cuMemAlloc(&y, BYTES));
    upload(x, data, BYTES);
    upload(y, data, BYTES);
    MUST(comparer_same(&b->comparer, x, y, BYTES, &same, &err));
    check(b, same, "equal bytes", "all");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char detail[32];
        snprintf(detail, sizeof detail, "byte %zu", places[i]);
        set_byte(y + places[i], 4);
        MUST(comparer_same(&b->comparer, x, y, BYTES, &same, &err));
        check(b, !same, "one byte differs", detail);
        MUST(comparer_same(&b->comparer, x, y, places[i], &same, &err));
        check(b, same, "the byte behind differs", detail);
        set_byte(y + places[i], 0);
    }
    cuMemFree(x);
    cuMemFree(y);
}

/* --- references --- */

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
    kgrade_error err = {.code = ""};
    if (!have_card())
        return SKIPPED;
    MUST(driver_open(&b.context, CU_CTX_SCHED_BLOCKING_SYNC, &err));
    MUST(cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING));
    MUST(comparer_open(&b.comparer, b.stream, &err));
    check_figures(&b);
    check_widening(&b);
    check_sameness(&b);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        check_task(&b, tasks[i]);
    comparer_close(&b.comparer);
    printf("judge: %d of %d checks failed\n", b.wrong, b.checks);
    return b.wrong != 0;
}
