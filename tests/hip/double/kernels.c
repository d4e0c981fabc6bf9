/*
 * What the kernels of the tests do, by name: those of candidate_*.hip and of the baselines of the tasks here.  Code of a
 * device is not interpreted, so a kernel that is not in the table does not run: it traps.  Each is written anew as C for the
 * processor, in the arithmetic of the kernel, and finds its own stray pointers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "double.h"

#define KERNEL_NS 100000u
#define NS_PER_BLOCK 20u
#define FORGED_NS 50000000u

/* The kernel's i-th argument. */
static void take(const struct launch *l, size_t i, void *ret, size_t bytes)
{
    const struct code_object_kernel *kernel = l->function->kernel;
    memset(ret, 0, bytes);
    if (i < kernel->n_args && kernel->args[i].size == bytes)
        memcpy(ret, l->arguments + kernel->args[i].offset, bytes);
}

static float *pointer(const struct launch *l, size_t i)
{
    float *p;
    take(l, i, &p, sizeof p);
    return p;
}

static int integer(const struct launch *l, size_t i)
{
    int n;
    take(l, i, &n, sizeof n);
    return n;
}

static bool usable(const float *p, size_t n)
{
    return n == 0 || memory_is_device(p, n * sizeof *p);
}

/* How many elements the launch gets to, with so many for each thread. */
static size_t reach(const struct launch *l, int n, size_t per_thread)
{
    uint64_t all = (uint64_t)l->grid.x * l->block.x * per_thread;
    return n <= 0 ? 0 : all < (uint64_t)n ? (size_t)all : (size_t)n;
}

/* (a, b, c, n): c = a + b + more */
static hipError_t sum(const struct launch *l, size_t per_thread, float more)
{
    const float *a = pointer(l, 0), *b = pointer(l, 1);
    float *c = pointer(l, 2);
    size_t n = reach(l, integer(l, 3), per_thread);
    if (!usable(a, n) || !usable(b, n) || !usable(c, n))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i] + more;
    return hipSuccess;
}

static hipError_t add(const struct launch *l)
{
    return sum(l, 1, 0);
}

static hipError_t add_four(const struct launch *l)
{
    return sum(l, 4, 0);
}

static hipError_t add_wrongly(const struct launch *l)
{
    return sum(l, 1, 0.5f);
}

/* (x, y, n): y += x */
static hipError_t accumulate(const struct launch *l)
{
    const float *x = pointer(l, 0);
    float *y = pointer(l, 1);
    size_t n = reach(l, integer(l, 2), 1);
    if (!usable(x, n) || !usable(y, n))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
    return hipSuccess;
}

/* (x, y, n, factor): y = x * factor */
static hipError_t scale(const struct launch *l)
{
    const float *x = pointer(l, 0);
    float *y = pointer(l, 1), factor;
    size_t n = reach(l, integer(l, 2), 1);
    take(l, 3, &factor, sizeof factor);
    if (!usable(x, n) || !usable(y, n))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * factor;
    return hipSuccess;
}

/* (x, y, rows, cols), a block for each row. */
static hipError_t softmax(const struct launch *l)
{
    const float *x = pointer(l, 0);
    float *y = pointer(l, 1);
    int rows = integer(l, 2), cols = integer(l, 3);
    size_t n = rows > 0 && cols > 0 ? (size_t)rows * (size_t)cols : 0;
    if (!usable(x, n) || !usable(y, n))
        return hipErrorIllegalAddress;
    for (size_t row = 0; row < (size_t)rows && row < l->grid.x; row++) {
        const float *from = x + row * (size_t)cols;
        float *to = y + row * (size_t)cols, most = from[0], all = 0;
        for (int i = 1; i < cols; i++)
            most = fmaxf(most, from[i]);
        for (int i = 0; i < cols; i++)
            all += to[i] = expf(from[i] - most);
        for (int i = 0; i < cols; i++)
            to[i] /= all;
    }
    return hipSuccess;
}

/* Works for long, and then tells the device's clock that it was short. */
static hipError_t add_forging(const struct launch *l)
{
    clock_forge(FORGED_NS);
    return sum(l, 1, 0);
}

static void *variable(const struct launch *l, const char *name)
{
    void *at = NULL;
    size_t bytes;
    return hipModuleGetGlobal(&at, &bytes, (hipModule_t)l->function->module, name) ? NULL : at;
}

/* (a, b, c, n): c = a + b * one */
static hipError_t add_by_variable(const struct launch *l)
{
    const float *a = pointer(l, 0), *b = pointer(l, 1), *one = variable(l, "one");
    float *c = pointer(l, 2);
    size_t n = reach(l, integer(l, 3), 1);
    if (!one || !usable(a, n) || !usable(b, n) || !usable(c, n))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i] * *one;
    return hipSuccess;
}

/* (a, b, c, n, table): c = a + b * table[i % 4] */
static hipError_t add_by_table(const struct launch *l)
{
    const float *a = pointer(l, 0), *b = pointer(l, 1), *table = pointer(l, 4);
    float *c = pointer(l, 2);
    size_t n = reach(l, integer(l, 3), 1);
    if (!usable(a, n) || !usable(b, n) || !usable(c, n) || !usable(table, 4))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i] * table[i % 4];
    return hipSuccess;
}

/* ({a, b, c}, n) */
static hipError_t add_in_struct(const struct launch *l)
{
    struct {
        const float *a, *b;
        float *c;
    } v;
    take(l, 0, &v, sizeof v);
    size_t n = reach(l, integer(l, 1), 1);
    if (!usable(v.a, n) || !usable(v.b, n) || !usable(v.c, n))
        return hipErrorIllegalAddress;
    for (size_t i = 0; i < n; i++)
        v.c[i] = v.a[i] + v.b[i];
    return hipSuccess;
}

static hipError_t touch_nothing(const struct launch *l)
{
    (void)l;
    return hipErrorIllegalAddress;
}

static hipError_t spin(const struct launch *l)
{
    (void)l;
    device_hang();
    return hipSuccess;
}

static const struct {
    const char *name;
    hipError_t (*run)(const struct launch *l);
    unsigned times; /* as long as others take */
} kernels[] = {
    {"_Z3addPKfS0_Pfi", add_four, 2}, /* the baseline's, and that of tests/gpu/hip/vector_add */
    {"add_one", add, 1},
    {"add_four", add_four, 1},
    {"add_slowly", add, 4},
    {"add_wrongly", add_wrongly, 1},
    {"add_forging", add_forging, 1},
    {"add_by_variable", add_by_variable, 1},
    {"add_by_table", add_by_table, 1},
    {"add_in_struct", add_in_struct, 1},
    {"accumulate", accumulate, 1},
    {"scale", scale, 1},
    {"softmax_row", softmax, 1},
    {"touch_nothing", touch_nothing, 1},
    {"spin", spin, 1},
};
#define N_KERNELS (sizeof kernels / sizeof kernels[0])

static size_t find(const struct launch *l)
{
    size_t i = 0;
    while (i < N_KERNELS && strcmp(kernels[i].name, l->function->kernel->name))
        i++;
    return i;
}

hipError_t kernel_run(const struct launch *l)
{
    size_t i = find(l);
    if (i < N_KERNELS)
        return kernels[i].run(l);
    fprintf(stderr, "kgrade's test double of HIP does not know the kernel %s.\n",
            l->function->kernel->name);
    return hipErrorLaunchFailure;
}

uint64_t kernel_ns(const struct launch *l)
{
    size_t i = find(l);
    return (i < N_KERNELS ? kernels[i].times : 1) *
           (KERNEL_NS + (uint64_t)l->grid.x * NS_PER_BLOCK);
}
