#define _GNU_SOURCE
#include "advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"

#define NONE SIZE_MAX

struct scene {
    const struct case_result *results;
    const struct task *task;
    size_t cases[2 * TASK_MAX_CASES]; /* with both times, by device time ascending */
    size_t n, n_bound;
};

static double device_ns(const struct case_result *r)
{
    return r->sampling.candidate.time.median;
}

static bool is_bound(const struct case_result *r)
{
    return r->overhead.warm_ns > device_ns(r);
}

static void collect(struct scene *s, size_t n)
{
    for (size_t i = 0; i < n && s->n < sizeof s->cases / sizeof s->cases[0]; i++) {
        const struct case_result *r = &s->results[i];
        if (r->task_case->kind != CASE_BENCHMARK || !r->sampled || !r->recorded ||
            !(r->overhead.warm_ns > 0) || !(device_ns(r) > 0))
            continue;
        size_t at = s->n++;
        for (; at > 0 && device_ns(&s->results[s->cases[at - 1]]) > device_ns(r); at--)
            s->cases[at] = s->cases[at - 1];
        s->cases[at] = i;
        s->n_bound += is_bound(r);
    }
}

static const struct case_result *at(const struct scene *s, size_t i)
{
    return &s->results[s->cases[i]];
}

/* The one dim in which the cases differ; NONE: there is none, or there are several. */
static size_t varying_dim(const struct scene *s)
{
    size_t found = NONE;
    for (size_t d = 0; d < s->task->n_dims; d++) {
        bool varies = false;
        for (size_t i = 1; i < s->n; i++)
            varies = varies || at(s, i)->task_case->dims[d] != at(s, 0)->task_case->dims[d];
        if (varies && found != NONE)
            return NONE;
        found = varies ? d : found;
    }
    return found;
}

/* The largest value of the dim among bound cases and the smallest among the others, if these are apart. */
static bool split(const struct scene *s, size_t dim, long long *ret_up_to, long long *ret_from)
{
    *ret_up_to = 0;
    *ret_from = 0;
    for (size_t i = 0; dim != NONE && i < s->n; i++) {
        long long value = at(s, i)->task_case->dims[dim];
        if (is_bound(at(s, i)))
            *ret_up_to = !*ret_up_to || value > *ret_up_to ? value : *ret_up_to;
        else
            *ret_from = !*ret_from || value < *ret_from ? value : *ret_from;
    }
    return *ret_up_to > 0 && *ret_from > *ret_up_to;
}

/* "m=512 n=512 k=64".  Caller frees. */
static char *dims_text(const struct scene *s, const struct case_result *r)
{
    json_auto_t *dims = task_dims_json(s->task, r->task_case->dims);
    char *text = NULL;
    size_t size = 0;
    const char *key;
    json_t *value;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    json_object_foreach(dims, key, value)
        fprintf(f, "%s%s=%lld", ftell(f) ? " " : "", key, (long long)json_integer_value(value));
    fclose(f);
    return text;
}

static void write_times(FILE *f, const struct scene *s, const struct case_result *r)
{
    cleanup_free char *dims = dims_text(s, r);
    fprintf(f, "at %s a call costs the host %.4g µs and the device %.4g µs", dims ? dims : "?",
            r->overhead.warm_ns / 1e3, device_ns(r) / 1e3);
}

/* The dim that a case is told apart by; dims are parameters of the task. */
static const char *dim_name(const struct task *task, size_t dim)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_DIM && dim-- == 0)
            return task->params[i].name;
    return "?";
}

static void write_bound(FILE *f, const struct scene *s)
{
    long long up_to, from;
    size_t dim = varying_dim(s);
    const struct case_result *example = NULL;
    if (s->n_bound == s->n) {
        fputs("In eager mode this kernel is launch-bound in every benchmark case: ", f);
        example = at(s, s->n - 1);
    } else if (split(s, dim, &up_to, &from)) {
        const char *name = dim_name(s->task, dim);
        fprintf(f, "In eager mode this kernel is launch-bound up to %s=%lld and not from %s=%lld: ",
                name, up_to, name, from);
    } else {
        fprintf(f, "In eager mode this kernel is launch-bound in %zu of %zu benchmark cases: ",
                s->n_bound, s->n);
    }
    /* The slowest of those that are: the nearest to not being it. */
    for (size_t i = 0; i < s->n; i++)
        example = is_bound(at(s, i)) ? at(s, i) : example;
    write_times(f, s, example);
}

char *advice_write(const struct case_result *results, size_t n, const struct task *task,
                   bool graph_hides)
{
    struct scene s = {.results = results, .task = task};
    char *text = NULL;
    size_t size = 0;
    collect(&s, n);
    FILE *f = s.n ? open_memstream(&text, &size) : NULL;
    if (!f)
        return NULL;
    if (s.n_bound) {
        write_bound(f, &s);
        fputs(graph_hides ? "; under graph replay it is not." : ".", f);
    } else {
        fputs("In eager mode this kernel is not launch-bound in any benchmark case: ", f);
        write_times(f, &s, at(&s, 0));
        putc('.', f);
    }
    fclose(f);
    return text;
}
