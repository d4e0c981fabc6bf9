/* The judge's comparison on the device gives the figures of judge/compare.c. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "grader/task/values.h"
#include "judge_bench.h"

#define MAX_COUNT 300000u
#define NORM_PRECISION 1e-12 /* sums in another order */

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

/* Looked for only where something is wrong. */
static bool same_around(const struct comparison *device, const struct comparison *host)
{
    bool same = device->around_first == host->around_first && device->n_around == host->n_around;
    if (comparison_passes(host))
        return device->n_around == 0;
    for (size_t i = 0; same && i < host->n_around; i++)
        same = same_number(device->around_expected[i], host->around_expected[i]) &&
               same_number(device->around_got[i], host->around_got[i]);
    return same;
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
    MUST(comparer_around(&b->comparer, a->type, a->device[0], a->device[2], &device, &err));
    compare_output(a->type, a->got, poisoned ? a->poison : NULL, a->expected, a->count, tolerance,
                   &host);
    bool same = same_figures(&device, &host) && same_around(&device, &host);
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

int main(void)
{
    static struct bench b;
    if (!have_card())
        return SKIPPED;
    bench_open(&b);
    check_figures(&b);
    check_widening(&b);
    check_sameness(&b);
    return bench_close(&b, "judge");
}
