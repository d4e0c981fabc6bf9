/* Which cases a grade has. */
#define _GNU_SOURCE
#include <string.h>

#include "../../sandbox/base/io.h"
#include "state.h"

static bool is_known(const struct grade *g, const struct task_case *c)
{
    for (size_t i = 0; i < g->n_cases; i++)
        if (g->cases[i].values == c->values &&
            !memcmp(g->cases[i].dims, c->dims, g->task->n_dims * sizeof *c->dims))
            return true;
    return false;
}

static void add_case(struct grade *g, const struct task_case *c)
{
    if (g->n_cases < GRADE_MAX_CASES) {
        g->cases[g->n_cases] = *c;
        g->results[g->n_cases] =
            (struct case_result){.task_case = &g->cases[g->n_cases], .roofline = {.fraction = -1}};
        g->n_cases++;
    }
}

/* Where the time counts, too, inputs are not always what the task usually draws. */
static void add_other_values(struct grade *g)
{
    for (size_t i = 0; i < g->n_public; i++) {
        struct task_case c = g->cases[i];
        if (c.kind != CASE_BENCHMARK)
            continue;
        c.kind = CASE_HIDDEN;
        for (size_t r = 0; r < g->task->n_hidden; r++) {
            c.values = r + 1;
            if (g->task->hidden[r].has_values &&
                task_devices_include(g->task->hidden[r].devices, g->device->name))
                add_case(g, &c);
        }
    }
}

void grade_choose_cases(struct grade *g)
{
    for (size_t i = 0; i < g->task->n_cases; i++)
        if (task_devices_include(g->task->cases[i].devices, g->device->name))
            add_case(g, &g->task->cases[i]);
    g->n_public = g->n_cases;
    struct task_case hidden[TASK_MAX_CASES];
    uint64_t seed;
    io_random(&seed, sizeof seed);
    size_t n = g->language ? task_draw_hidden(g->task, g->device->name, seed, hidden) : 0;
    for (size_t i = 0; i < n; i++)
        if (!is_known(g, &hidden[i]))
            add_case(g, &hidden[i]);
    g->n_recorded = g->n_cases;
    add_other_values(g);
}

size_t grade_benchmark_cases(const struct grade *g, struct task_case ret[GRADE_MAX_CASES])
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_public; i++)
        if (g->cases[i].kind == CASE_BENCHMARK)
            ret[n++] = g->cases[i];
    return n;
}
