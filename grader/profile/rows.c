#define _GNU_SOURCE
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../measure/statistics.h"
#include "groups.h"

#define MAX_LAYER_NAME (LOG_MAX_NAME + 4)

struct layer {
    char name[MAX_LAYER_NAME];
    const char *group; /* of a function of the API; NULL for ranges */
    size_t thread, depth;
    double *inclusive, *self;
    size_t n, room;
};

struct rows {
    struct layer *layers;
    size_t n, room, launches;
};

struct rows *rows_new(void)
{
    return calloc(1, sizeof(struct rows));
}

void rows_free(struct rows *rows)
{
    for (size_t i = 0; rows && i < rows->n; i++) {
        free(rows->layers[i].inclusive);
        free(rows->layers[i].self);
    }
    if (rows)
        free(rows->layers);
    free(rows);
}

size_t rows_launches(const struct rows *rows)
{
    return rows->launches;
}

static struct layer *layer_of(struct rows *rows, const char *prefix, const char *name,
                              size_t thread, size_t depth)
{
    char whole[MAX_LAYER_NAME];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    for (size_t i = 0; i < rows->n; i++)
        if (rows->layers[i].thread == thread && !strcmp(rows->layers[i].name, whole))
            return &rows->layers[i];
    if (rows->n == ROWS_MAX)
        return NULL;
    if (rows->n == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 32;
        struct layer *layers = realloc(rows->layers, room * sizeof *layers);
        if (!layers)
            return NULL;
        rows->layers = layers;
        rows->room = room;
    }
    struct layer *layer = &rows->layers[rows->n++];
    *layer = (struct layer){.thread = thread, .depth = depth};
    memcpy(layer->name, whole, sizeof whole);
    return layer;
}

static bool add_sample(struct layer *layer, double inclusive, double self)
{
    if (layer->n == layer->room) {
        size_t room = layer->room ? 2 * layer->room : 64;
        double *a = realloc(layer->inclusive, room * sizeof *a);
        if (a)
            layer->inclusive = a;
        double *b = realloc(layer->self, room * sizeof *b);
        if (b)
            layer->self = b;
        if (!a || !b)
            return false;
        layer->room = room;
    }
    layer->inclusive[layer->n] = inclusive;
    layer->self[layer->n++] = self;
    return true;
}

/* What is worked out of a thread's ranges before they are counted. */
struct work {
    const char **layers; /* the range's own name, or its group */
    uint32_t *into;      /* the range that it is part of; its own index for most */
    uint64_t *extra;     /* own time of those that are part of it */
    uint32_t *depth;     /* of the range, not counting those that are part of another */
};

static void merge(const struct spans *spans, const struct span_logs *logs, const struct work *w)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct span *s = &spans->list[i];
        const char *name = s->name < logs->n_names ? logs->names[s->name] : "?";
        bool api = s->domain == LOG_DOMAIN_API;
        w->layers[i] = api ? groups_of(name) : name;
        w->into[i] = i;
        /* Parents come first, so that theirs is known. */
        if (api && s->parent != SPAN_NONE && !strcmp(w->layers[s->parent], w->layers[i]))
            w->into[i] = w->into[s->parent];
        if (s->parent != SPAN_NONE)
            w->depth[i] = w->depth[s->parent] + (w->into[s->parent] == s->parent);
        if (w->into[i] != i)
            w->extra[w->into[i]] += span_self(s);
    }
}

static int add_all(struct rows *rows, const struct spans *spans, const struct span_logs *logs,
                   size_t thread, double tick_ns, const struct work *w)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct span *s = &spans->list[i];
        double inclusive = (double)s->inclusive * tick_ns;
        double self = (double)span_self(s) * tick_ns;
        struct layer *layer;
        if (w->into[i] == i) {
            layer = layer_of(rows, "", w->layers[i], thread, w->depth[i]);
            if (!layer || !add_sample(layer, inclusive, self + (double)w->extra[i] * tick_ns))
                return -1;
        }
        if (s->domain != LOG_DOMAIN_API)
            continue;
        const char *function = s->name < logs->n_names ? logs->names[s->name] : "?";
        rows->launches += groups_is_launch(function);
        layer = layer_of(rows, "api.", function, thread, w->depth[i] + (w->into[i] == i));
        if (layer)
            layer->group = groups_of(function);
        if (!layer || !add_sample(layer, inclusive, self))
            return -1;
    }
    return 0;
}

int rows_add(struct rows *rows, const struct spans *spans, const struct span_logs *logs,
             size_t thread, double tick_ns, kgrade_error *err)
{
    cleanup_free const char **layers = calloc(spans->n + 1, sizeof *layers);
    cleanup_free uint32_t *into = calloc(spans->n + 1, sizeof *into);
    cleanup_free uint64_t *extra = calloc(spans->n + 1, sizeof *extra);
    cleanup_free uint32_t *depth = calloc(spans->n + 1, sizeof *depth);
    if (!layers || !into || !extra || !depth)
        return fail(err, "out_of_memory", NULL, "There is no memory for %zu ranges.", spans->n);
    const struct work work = {layers, into, extra, depth};
    merge(spans, logs, &work);
    if (!add_all(rows, spans, logs, thread, tick_ns, &work))
        return 0;
    if (rows->n == ROWS_MAX)
        return fail(err, "too_many_ranges", "Give ranges of the same kind the same name.",
                    "There are more than %u different ranges.", ROWS_MAX);
    return fail(err, "out_of_memory", NULL, "There is no memory for the samples of ranges.");
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static double median_deviation(const double *sorted, size_t n, double median)
{
    cleanup_free double *deviations = malloc(n * sizeof *deviations);
    if (!deviations)
        return NAN;
    for (size_t i = 0; i < n; i++)
        deviations[i] = fabs(sorted[i] - median);
    statistics_sort(deviations, n);
    return statistics_quantile(deviations, n, 0.5);
}

json_t *rows_one(const struct rows_common *c, const char *phase, const char *range,
                 const char *metric, size_t count, double *samples, size_t n,
                 const char *population, size_t thread, size_t depth, double observer_ns)
{
    struct summary s;
    statistics_sort(samples, n);
    statistics_summarise(samples, n, &s);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, "
        "s:o, s:b, s:I}",
        "nodeid", c->nodeid, "operator", c->operator_name, "backend", c->backend, "phase", phase,
        "range", range, "metric", metric, "count", (json_int_t)count, "unit", "ns", "mean",
        number(s.mean), "median", number(s.median), "min", number(s.min), "p10", number(s.p10),
        "p90", number(s.p90), "p99", number(s.p99), "mad",
        number(median_deviation(samples, n, s.median)), "population", population, "thread",
        (json_int_t)thread, "observer_ns", number(observer_ns), "observer_sensitive",
        observer_ns > 0 && observer_ns >= ROWS_OBSERVER_SHARE * s.median, "depth",
        (json_int_t)depth);
}

static int write_layer(struct layer *l, const struct rows_common *common, const char *phase,
                       const char *population, double observer_ns, json_t *to)
{
    json_t *inclusive = rows_one(common, phase, l->name, "inclusive", l->n, l->inclusive, l->n,
                                 population, l->thread, l->depth, observer_ns);
    json_t *self = rows_one(common, phase, l->name, "self", l->n, l->self, l->n, population,
                            l->thread, l->depth, observer_ns);
    int failed = json_array_append_new(to, inclusive);
    return json_array_append_new(to, self) || failed ? -1 : 0;
}

int rows_write(struct rows *rows, const struct rows_common *common, const char *phase,
               const char *population, double observer_ns, json_t *to)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct layer *l = &rows->layers[i];
        if (l->group)
            continue;
        if (write_layer(l, common, phase, population, observer_ns, to))
            return -1;
        /* Functions behind their group. */
        for (size_t k = 0; k < rows->n; k++) {
            struct layer *f = &rows->layers[k];
            if (f->group && f->thread == l->thread && !strcmp(f->group, l->name) &&
                write_layer(f, common, phase, population, observer_ns, to))
                return -1;
        }
    }
    return 0;
}
