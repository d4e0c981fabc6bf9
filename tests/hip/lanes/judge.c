/*
 * Judges a task's answer by a candidate that is compiled for the processor (hip/hip_runtime.h), with the judge's own code:
 *
 *   hip_lanes TASK_FOLDER CANDIDATE.so REFERENCE.so
 *
 * All correctness cases and the hidden ones of one seed, but those that would take long.  Status 1: one is not right.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/devices/shared/host_inputs.h"
#include "grader/judge/host.h"
#include "grader/task/expr.h"
#include "sandbox/base/cleanup.h"

#define DEVICE "hip"
#define SEED 7
#define POISON 8
#define MAX_OPERATIONS 3000000
#define MAX_BYTES (1u << 20)

static struct {
    struct task *task;
    struct call *call;
    void (*entry)(void);
    struct host_reference reference;
} at;

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static bool takes_long(const struct judge_case *c)
{
    struct expr_scope scope = task_scope(at.task, c->dims);
    int64_t operations = 0;
    return c->layout.bytes > MAX_BYTES ||
           expr_eval(at.task->roofline_operations, &scope, &operations, NULL) ||
           operations > MAX_OPERATIONS;
}

static void answer(const struct judge_case *c, uint8_t *arena)
{
    host_inputs_fill(at.task, &c->layout, arena, c->seed, c->poison);
    call_set_dims(at.call, c->dims);
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        call_set_pointer(at.call, c->layout.buffers[i].param, arena + c->layout.buffers[i].offset);
    for (size_t i = 0; i < at.task->n_params; i++)
        if (at.task->params[i].kind == PARAM_STREAM)
            call_set_pointer(at.call, i, NULL);
    call_invoke(at.call, at.entry);
}

static bool is_right(const struct judge_case *c, const uint8_t *arena)
{
    cleanup_operands struct operands operands = {.n = 0};
    struct comparison all[TASK_MAX_PARAMS];
    bool changed = false, right = true;
    kgrade_error err = {.code = ""};
    memset(all, 0, sizeof all);
    if (host_evaluate(&at.reference, c, arena, NULL, &operands, &changed, &err) ||
        host_compare(at.task, c, arena, &operands, all, &err))
        die(at.task->name, err.message);
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct param *p = &at.task->params[c->layout.buffers[i].param];
        if (p->kind == PARAM_IN || comparison_passes(&all[i]))
            continue;
        right = false;
        printf("  %s: %llu of %llu wrong, worst at %llu: %g instead of %g\n", p->name,
               (unsigned long long)all[i].bad, (unsigned long long)all[i].count,
               (unsigned long long)all[i].worst_index, all[i].worst_got, all[i].worst_expected);
    }
    return right && !changed;
}

/* 1: right; 0: not; -1: left out. */
static int judge(const struct task_case *from)
{
    struct judge_case c = {.seed = SEED, .poison = POISON};
    kgrade_error err = {.code = ""};
    memcpy(c.dims, from->dims, sizeof c.dims);
    if (task_layout(at.task, c.dims, &c.layout, &err) ||
        task_draw_from(at.task, from->values, &c.layout, &err))
        die(at.task->name, err.message);
    if (takes_long(&c))
        return -1;
    cleanup_free uint8_t *arena = aligned_alloc(LAYOUT_PAGE, c.layout.bytes + LAYOUT_PAGE);
    if (!arena)
        die(at.task->name, "no memory");
    memset(arena, 0, c.layout.bytes + LAYOUT_PAGE);
    answer(&c, arena);
    return is_right(&c, arena);
}

static void load(char **argv)
{
    kgrade_error err = {.code = ""};
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    int reference = open(argv[3], O_RDONLY | O_CLOEXEC);
    if (!library || reference < 0)
        die(argv[2], library ? "there is no reference" : dlerror());
    if (task_load(argv[1], &at.task, &err) || call_new_entry(at.task, &at.call, &err) ||
        host_reference_load(&at.reference, at.task, reference, &err))
        die(argv[1], err.message);
    void *entry = dlsym(library, at.task->entry);
    if (!entry)
        die(argv[2], "the entry is missing");
    memcpy(&at.entry, &entry, sizeof at.entry);
    close(reference);
}

int main(int argc, char **argv)
{
    static struct task_case hidden[TASK_MAX_CASES];
    unsigned right = 0, wrong = 0, left_out = 0;
    if (argc != 4)
        return 2;
    load(argv);
    size_t n_hidden = task_draw_hidden(at.task, DEVICE, SEED, hidden);
    for (size_t i = 0; i < at.task->n_cases + n_hidden; i++) {
        const struct task_case *c =
            i < at.task->n_cases ? &at.task->cases[i] : &hidden[i - at.task->n_cases];
        if (i < at.task->n_cases && c->kind != CASE_CORRECTNESS)
            continue;
        int result = judge(c);
        right += result == 1;
        wrong += result == 0;
        left_out += result < 0;
    }
    printf("%-7s %-16s %u right, %u wrong, %u would take long\n", wrong || !right ? "FAILED" : "ok",
           at.task->name, right, wrong, left_out);
    return wrong || !right;
}
