/*
 * Where each task's tolerance cuts: what honest kernels of several precisions lose against the reference, measured in
 * tolerances.
 *
 *     build/release/tests/bench/kgrade-bench-tolerance [TASK_FOLDER...]
 *
 * The kernels are the task's own reference.c: compiled with another type in the place of double, for the arithmetic of
 * f32 and f16, and given inputs that were rounded as tensor cores round them.  It adds in one row where kernels add in
 * trees, so a sum of many terms comes out worse here than in a good kernel.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grader/judge/host.h"
#include "grader/task/call.h"
#include "grader/task/set.h"
#include "sandbox/base/cleanup.h"

#define MAX_OPERATIONS 1000000000ll
#define MAX_BYTES (64ull << 20)

struct kernel {
    const char *name;
    const char *type;       /* in the place of double */
    unsigned mantissa_bits; /* of the inputs; 0: as they are */
};

static const struct kernel kernels[] = {
    {"f32", "float", 0},
    {"tf32 inputs, f32 sums", "float", 10},
    {"bf16 inputs, f32 sums", "float", 7},
    {"f8e4m3 inputs, f32 sums", "float", 3},
    {"f16 inputs and sums", "_Float16", 10},
};

static void die(const char *what, const kgrade_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err ? err->message : strerror(errno));
    exit(1);
}

/* reference.c with another type inside and the usual signature outside. */
static void write_variant(FILE *out, const struct task *task, const struct bytes *reference,
                          const char *type)
{
    fprintf(out,
            "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "#define double %s\n#define reference narrow_reference\n%.*s\n"
            "#undef double\n#undef reference\n"
            "int64_t kgrade_counts[%d];\n"
            "static %s *take(const double *from, int64_t n)\n{\n"
            "    %s *to = calloc(n + 1, sizeof *to);\n"
            "    for (int64_t i = 0; i < n; i++)\n        to[i] = from[i];\n    return to;\n}\n"
            "void reference(",
            type, (int)reference->size, (const char *)reference->data, TASK_MAX_PARAMS, type, type);
    const char *comma = "";
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        if (p->kind == PARAM_STREAM)
            continue;
        bool real = dtype_is_float(p->dtype);
        const char *star = param_is_buffer(p) ? "*" : "";
        fprintf(out, "%s%s %sp%zu", comma, p->kind != PARAM_DIM && real ? "double" : "int64_t",
                star, i);
        comma = ", ";
    }
    fprintf(out, ")\n{\n");
    for (size_t i = 0; i < task->n_params; i++)
        if (param_is_buffer(&task->params[i]) && dtype_is_float(task->params[i].dtype))
            fprintf(out, "    %s *n%zu = take(p%zu, kgrade_counts[%zu]);\n", type, i, i, i);
    fprintf(out, "    narrow_reference(");
    comma = "";
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        if (p->kind == PARAM_STREAM)
            continue;
        fprintf(out, "%s%s%zu", comma, param_is_buffer(p) && dtype_is_float(p->dtype) ? "n" : "p",
                i);
        comma = ", ";
    }
    fprintf(out, ");\n");
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        if (!param_is_buffer(p) || !dtype_is_float(p->dtype))
            continue;
        if (p->kind != PARAM_IN)
            fprintf(out,
                    "    for (int64_t i = 0; i < kgrade_counts[%zu]; i++)\n        p%zu[i] = "
                    "n%zu[i];\n",
                    i, i, i);
        fprintf(out, "    free(n%zu);\n", i);
    }
    fprintf(out, "}\n");
}

static void compile(const char *folder, const struct task *task, const char *type,
                    struct host_reference *ret, int64_t **ret_counts)
{
    static unsigned n;
    char source[128], library[128];
    snprintf(source, sizeof source, "%s/%u.c", folder, n);
    snprintf(library, sizeof library, "%s/%u.so", folder, n++);
    const struct bytes *reference = task_file(task, "reference.c");
    FILE *out = fopen(source, "w");
    if (!out)
        die(source, NULL);
    write_variant(out, task, reference, type);
    fclose(out);
    char *argv[] = {"cc",
                    "-std=gnu17",
                    "-O2",
                    "-march=native",
                    "-w",
                    "-fno-math-errno",
                    "-fPIC",
                    "-shared",
                    "-o",
                    library,
                    source,
                    "-lm",
                    strcmp(type, "double") ? "-fsingle-precision-constant" : NULL,
                    NULL};
    pid_t pid;
    int status = 1;
    kgrade_error err;
    if (posix_spawnp(&pid, "cc", NULL, NULL, argv, environ) || waitpid(pid, &status, 0) != pid ||
        status)
        die("the reference does not compile with another type", NULL);
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = loaded ? dlsym(loaded, "reference") : NULL;
    if (!function || call_new_reference(task, &ret->call, &err))
        die(dlerror(), NULL);
    *ret_counts = dlsym(loaded, "kgrade_counts");
    memcpy(&ret->function, &function, sizeof function);
    ret->task = task;
}

/* What was found over all cases, in tolerances. */
struct loss {
    double element, norm;
    size_t cases, wrong;
};

static void evaluate(const struct host_reference *reference, int64_t *counts,
                     const struct judge_case *c, const struct host_twist *twist,
                     struct operands *ret)
{
    bool changed;
    kgrade_error err;
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        counts[c->layout.buffers[i].param] = (int64_t)c->layout.buffers[i].count;
    if (host_evaluate(reference, c, NULL, twist, ret, &changed, &err))
        die("the reference failed", &err);
}

/* got holds doubles: rounded to the output's dtype they are what a kernel would have written. */
static void add_loss(const struct task *task, const struct judge_case *c,
                     const struct operands *expected, const struct operands *got, struct loss *loss)
{
    bool wrong = false;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &task->params[b->param];
        const struct tolerance *t = task_tolerance(task, p->dtype);
        if (p->kind == PARAM_IN || !dtype_is_float(p->dtype) || !t || !b->count)
            continue;
        const double *e = expected->wide[i], *g = got->wide[i];
        double difference2 = 0, expected2 = 0;
        for (uint64_t j = 0; j < b->count; j++) {
            char stored[8];
            dtype_store_double(p->dtype, stored, 0, g[j]);
            double error = fabs(dtype_load_double(p->dtype, stored, 0) - e[j]);
            double allowed = t->absolute + t->relative * fabs(e[j]);
            double excess = error > 0 ? error / allowed : 0;
            loss->element = excess > loss->element || isnan(excess) ? excess : loss->element;
            wrong = wrong || !(excess <= 1);
            difference2 += error * error;
            expected2 += e[j] * e[j];
        }
        double norm = difference2 > 0 ? sqrt(difference2 / expected2) / t->norm : 0;
        loss->norm = norm > loss->norm || isnan(norm) ? norm : loss->norm;
        wrong = wrong || !(norm <= 1);
    }
    loss->cases++;
    loss->wrong += wrong;
}

static bool can_be_tried(const struct task *task, const struct task_case *at)
{
    struct layout layout;
    struct expr_scope scope = task_scope(task, at->dims);
    int64_t operations;
    return !task_layout(task, at->dims, &layout, NULL) && layout.bytes <= MAX_BYTES &&
           !expr_eval(task->roofline_operations, &scope, &operations, NULL) &&
           operations <= MAX_OPERATIONS;
}

static void study(const char *folder, const struct task *task)
{
    enum { N = sizeof kernels / sizeof kernels[0] };
    struct host_reference right = {0}, variants[N] = {0};
    int64_t *right_counts, *counts[N];
    struct loss losses[N] = {0};
    compile(folder, task, "double", &right, &right_counts);
    for (size_t k = 0; k < N; k++)
        compile(folder, task, kernels[k].type, &variants[k], &counts[k]);
    for (size_t i = 0; i < task->n_cases; i++) {
        struct judge_case c = {.seed = 0x9e3779b97f4a7c15ull * (i + 1)};
        if (!can_be_tried(task, &task->cases[i]))
            continue;
        memcpy(c.dims, task->cases[i].dims, sizeof c.dims);
        task_layout(task, c.dims, &c.layout, NULL);
        cleanup_operands struct operands expected = {.n = 0};
        evaluate(&right, right_counts, &c, NULL, &expected);
        for (size_t k = 0; k < N; k++) {
            const struct host_twist twist = {SIZE_MAX, 0, kernels[k].mantissa_bits};
            cleanup_operands struct operands got = {.n = 0};
            evaluate(&variants[k], counts[k], &c, &twist, &got);
            add_loss(task, &c, &expected, &got, &losses[k]);
        }
    }
    for (size_t k = 0; k < N; k++)
        printf("%-14s %-26s %12.3g %12.3g   %zu of %zu cases\n", k ? "" : task->name,
               kernels[k].name, losses[k].element, losses[k].norm,
               losses[k].cases - losses[k].wrong, losses[k].cases);
}

static bool has_float_output(const struct task *task)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (param_is_buffer(&task->params[i]) && task->params[i].kind != PARAM_IN &&
            dtype_is_float(task->params[i].dtype))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/kgrade-tolerance.XXXXXX";
    cleanup_task_set struct task_set *tasks = NULL;
    kgrade_error err;
    if (!mkdtemp(folder))
        die(folder, NULL);
    if (argc == 1 && task_set_load(KGRADE_SOURCE_DIR "/tasks", NULL, &tasks, &err))
        die("the tasks", &err);
    printf("the error in tolerances: at most 1 passes\n%-14s %-26s %12s %12s   %s\n", "task",
           "arithmetic", "element", "norm", "passes");
    for (size_t i = 0; tasks && i < tasks->n; i++)
        if (has_float_output(tasks->tasks[i]))
            study(folder, tasks->tasks[i]);
    for (int i = 1; i < argc; i++) {
        cleanup_task struct task *task = NULL;
        if (task_load(argv[i], &task, &err))
            die(argv[i], &err);
        study(folder, task);
    }
    io_remove_tree(folder, NULL);
    return 0;
}
