#define _GNU_SOURCE
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../measure/statistics.h"
#include "../wire.h"
#include "groups.h"

#define MAX_LAYER_NAME (LOG_MAX_NAME + 4)
#define NO_LAYER SIZE_MAX

/* Ranges of one name in one place: below the same ranges, on the same thread. */
struct layer {
    char name[MAX_LAYER_NAME];
    uint64_t hash; /* of the name */
    size_t parent; /* index, smaller than its own, or NO_LAYER */
    bool function; /* of the API: its parent is its group */
    bool api;      /* calls of the API are among what it counts */
    size_t thread, depth;
    double *inclusive, *self;
    size_t n, room;
};

struct rows {
    struct layer *layers;
    size_t n, room, launches;
    bool too_deep;
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

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
    return hash;
}

static bool grow(struct rows *rows)
{
    if (rows->n < rows->room)
        return true;
    size_t room = rows->room ? 2 * rows->room : 32;
    struct layer *layers = realloc(rows->layers, room * sizeof *layers);
    if (!layers)
        return false;
    rows->layers = layers;
    rows->room = room;
    return true;
}

/* The index of the layer, made when it is new; NO_LAYER: there is no room. */
static size_t layer_of(struct rows *rows, size_t parent, bool function, const char *name,
                       size_t thread)
{
    char whole[MAX_LAYER_NAME];
    snprintf(whole, sizeof whole, "%s%s", function ? "api." : "", name);
    uint64_t hash = hash_of(whole);
    for (size_t i = 0; i < rows->n; i++) {
        const struct layer *l = &rows->layers[i];
        if (l->hash == hash && l->parent == parent && l->thread == thread &&
            l->function == function && !strcmp(l->name, whole))
            return i;
    }
    size_t depth = parent == NO_LAYER ? 0 : rows->layers[parent].depth + 1;
    rows->too_deep = rows->too_deep || depth > ROWS_MAX_DEPTH;
    if (rows->too_deep || rows->n == ROWS_MAX || !grow(rows))
        return NO_LAYER;
    struct layer *layer = &rows->layers[rows->n];
    *layer = (struct layer){
        .hash = hash, .parent = parent, .function = function, .thread = thread, .depth = depth};
    memcpy(layer->name, whole, sizeof whole);
    return rows->n++;
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
    const char **names; /* the range's own name, or its group */
    uint32_t *into;     /* the range that it is part of; its own index for most */
    uint64_t *extra;    /* own time of those that are part of it */
    size_t *layers;     /* of the range that it is part of */
};

static void merge(const struct spans *spans, const struct span_logs *logs, const struct work *w)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct span *s = &spans->list[i];
        const char *name = s->name < logs->n_names ? logs->names[s->name] : "?";
        bool api = s->domain == LOG_DOMAIN_API;
        w->names[i] = api ? groups_of(name) : name;
        w->into[i] = i;
        /* Parents come first, so that theirs is known. */
        if (api && s->parent != SPAN_NONE && !strcmp(w->names[s->parent], w->names[i]))
            w->into[i] = w->into[s->parent];
        if (w->into[i] != i)
            w->extra[w->into[i]] += span_self(s);
    }
}

static bool add_one(struct rows *rows, size_t layer, bool api, double inclusive, double self)
{
    if (layer == NO_LAYER)
        return false;
    rows->layers[layer].api |= api;
    return add_sample(&rows->layers[layer], inclusive, self);
}

static int add_all(struct rows *rows, const struct spans *spans, const struct span_logs *logs,
                   size_t thread, double tick_ns, const struct work *w)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct span *s = &spans->list[i];
        double inclusive = (double)s->inclusive * tick_ns;
        double self = (double)span_self(s) * tick_ns;
        bool api = s->domain == LOG_DOMAIN_API;
        w->layers[i] = w->layers[w->into[i]];
        if (w->into[i] == i) {
            size_t around = s->parent == SPAN_NONE ? NO_LAYER : w->layers[s->parent];
            w->layers[i] = layer_of(rows, around, false, w->names[i], thread);
            if (!add_one(rows, w->layers[i], api, inclusive, self + (double)w->extra[i] * tick_ns))
                return -1;
        }
        if (!api)
            continue;
        const char *function = s->name < logs->n_names ? logs->names[s->name] : "?";
        rows->launches += groups_is_launch(function);
        if (!add_one(rows, layer_of(rows, w->layers[i], true, function, thread), true, inclusive,
                     self))
            return -1;
    }
    return 0;
}

int rows_add(struct rows *rows, const struct spans *spans, const struct span_logs *logs,
             size_t thread, double tick_ns, kgrade_error *err)
{
    cleanup_free const char **names = calloc(spans->n + 1, sizeof *names);
    cleanup_free uint32_t *into = calloc(spans->n + 1, sizeof *into);
    cleanup_free uint64_t *extra = calloc(spans->n + 1, sizeof *extra);
    cleanup_free size_t *layers = calloc(spans->n + 1, sizeof *layers);
    if (!names || !into || !extra || !layers)
        return fail(err, "out_of_memory", NULL, "There is no memory for %zu ranges.", spans->n);
    const struct work work = {names, into, extra, layers};
    merge(spans, logs, &work);
    if (!add_all(rows, spans, logs, thread, tick_ns, &work))
        return 0;
    if (rows->too_deep)
        return fail(err, "too_many_ranges", "Name fewer of the ranges that are within each other.",
                    "Ranges are more than %u deep within each other.", ROWS_MAX_DEPTH);
    if (rows->n == ROWS_MAX)
        return fail(err, "too_many_ranges", "Give ranges of the same kind the same name.",
                    "There are more than %u different ranges, those in different places counted "
                    "apart.",
                    ROWS_MAX);
    return fail(err, "out_of_memory", NULL, "There is no memory for the samples of ranges.");
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
                 const char *population, size_t thread, double observer_ns, json_t *path)
{
    struct summary s;
    statistics_sort(samples, n);
    statistics_summarise(samples, n, &s);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, "
        "s:o, s:b, s:I, s:O}",
        "nodeid", c->nodeid, "operator", c->operator_name, "backend", c->backend, "phase", phase,
        "range", range, "metric", metric, "count", (json_int_t)count, "unit", "ns", "mean",
        wire_number_json(s.mean), "median", wire_number_json(s.median), "min",
        wire_number_json(s.min), "p10", wire_number_json(s.p10), "p90", wire_number_json(s.p90),
        "p99", wire_number_json(s.p99), "mad",
        wire_number_json(median_deviation(samples, n, s.median)), "population", population,
        "thread", (json_int_t)thread, "observer_ns", wire_number_json(observer_ns),
        "observer_sensitive", observer_ns > 0 && observer_ns >= ROWS_OBSERVER_SHARE * s.median,
        "depth", (json_int_t)json_array_size(path), "path", path);
}

/* What the rows of a phase have in common, and where they go. */
struct writing {
    struct rows *rows;
    const struct rows_common *common;
    const char *phase, *population;
    const struct rows_observer *observer;
    json_t *path; /* of what is being written */
    json_t *to;
};

static int write_layer(const struct writing *w, const struct layer *l)
{
    double *samples[] = {l->inclusive, l->self};
    static const char *const metrics[] = {"inclusive", "self"};
    double observer_ns = l->api ? w->observer->call_ns : w->observer->range_ns;
    json_auto_t *path = json_copy(w->path);
    for (size_t i = 0; i < 2; i++)
        if (json_array_append_new(w->to, rows_one(w->common, w->phase, l->name, metrics[i], l->n,
                                                  samples[i], l->n, w->population, l->thread,
                                                  observer_ns, path)))
            return -1;
    return 0;
}

/* What is directly below, and all below that: at most ROWS_MAX_DEPTH of this function are within each other. */
static int write_below(const struct writing *w, size_t parent, bool functions)
{
    for (size_t i = parent == NO_LAYER ? 0 : parent + 1; i < w->rows->n; i++) {
        const struct layer *l = &w->rows->layers[i];
        if (l->parent != parent || l->function != functions)
            continue;
        if (write_layer(w, l))
            return -1;
        if (functions)
            continue;
        if (json_array_append_new(w->path, json_string(l->name)) || write_below(w, i, true) ||
            write_below(w, i, false) || json_array_remove(w->path, json_array_size(w->path) - 1))
            return -1;
    }
    return 0;
}

int rows_write(struct rows *rows, const struct rows_common *common, const char *phase,
               const char *population, const struct rows_observer *observer, json_t *to)
{
    json_auto_t *path = json_array();
    const struct writing w = {rows, common, phase, population, observer, path, to};
    return write_below(&w, NO_LAYER, false);
}
