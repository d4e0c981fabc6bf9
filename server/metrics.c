/*
 * Counters live in tables of fixed size.  A row is filled by one thread at a time and published by the
 * table's count; from then on its labels never change and its numbers are atomic, so that whoever
 * counts or reads finds it without a lock.
 */
#define _GNU_SOURCE
#include "metrics.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LABEL 64 /* bytes of a label's value, with the NUL; longer ones are cut */
#define MAX_LABELS 3
#define MAX_STEPS 128
#define MAX_FAULTS 64
#define MAX_REQUESTS 512
#define MAX_ROUTES 64
#define MAX_BUCKETS 16
#define RESERVE 128

/* Upper bounds in seconds; +Inf follows. */
static const double grade_bounds[] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320};
static const double request_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                        0.1,    0.25,  0.5,    1,     5,    30};
#define N_BOUNDS (sizeof grade_bounds / sizeof *grade_bounds)
_Static_assert(N_BOUNDS == sizeof request_bounds / sizeof *request_bounds, "one size for both");
_Static_assert(N_BOUNDS < MAX_BUCKETS, "and one more for +Inf");

struct row {
    char labels[MAX_LABELS][MAX_LABEL];
    atomic_ullong count;
    atomic_ullong buckets[MAX_BUCKETS]; /* of a histogram; not cumulative */
    atomic_ullong sum_ns;
};

struct table {
    const char *name, *help;
    const char *labels[MAX_LABELS]; /* names; NULL after the last */
    const double *bounds;           /* NULL: a counter */
    size_t room; /* rows; RESERVE of them are for what came too late: last label "other" */
    atomic_size_t n;
    struct row *rows;
};

enum { GRADES, STEPS, FAULTS, REQUESTS, DURATIONS, N_TABLES };

struct metrics {
    pthread_mutex_t adding;
    struct table tables[N_TABLES];
};

struct metrics *metrics_new(void)
{
    static const struct table empty[N_TABLES] = {
        [GRADES] = {.name = "kgrade_grades_total",
                    .help = "Grades that ended.",
                    .labels = {"verdict", "device", "task"},
                    .room = METRICS_MAX_SERIES + RESERVE},
        [STEPS] = {.name = "kgrade_step_seconds",
                   .help = "How long each step of a grade took.",
                   .labels = {"step", "device"},
                   .bounds = grade_bounds,
                   .room = MAX_STEPS + RESERVE},
        [FAULTS] = {.name = "kgrade_faults_total",
                    .help = "Grades that ended for a fault of the machine or of its jails.",
                    .labels = {"code", "device"},
                    .room = MAX_FAULTS + RESERVE},
        [REQUESTS] = {.name = "kgrade_requests_total",
                      .help = "Requests that were answered.",
                      .labels = {"route", "status"},
                      .room = MAX_REQUESTS + RESERVE},
        [DURATIONS] = {.name = "kgrade_request_seconds",
                       .help = "How long requests took, their waiting included.",
                       .labels = {"route"},
                       .bounds = request_bounds,
                       .room = MAX_ROUTES + RESERVE},
    };
    struct metrics *metrics = calloc(1, sizeof *metrics);
    bool whole = metrics;
    for (size_t i = 0; whole && i < N_TABLES; i++) {
        memcpy(&metrics->tables[i], &empty[i], sizeof empty[i]);
        metrics->tables[i].rows = calloc(empty[i].room, sizeof(struct row));
        whole = metrics->tables[i].rows;
    }
    if (!whole) {
        for (size_t i = 0; metrics && i < N_TABLES; i++)
            free(metrics->tables[i].rows);
        free(metrics);
        return NULL;
    }
    pthread_mutex_init(&metrics->adding, NULL);
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < N_TABLES; i++)
        free(metrics->tables[i].rows);
    pthread_mutex_destroy(&metrics->adding);
    free(metrics);
}

/* Counting. */

/* As it is kept: cut, and without bytes that are no UTF-8 by themselves. */
static void plain(char to[MAX_LABEL], const char *from)
{
    size_t n = 0;
    for (; from && from[n] && n + 1 < MAX_LABEL; n++) {
        unsigned char c = (unsigned char)from[n];
        to[n] = (char)(c < 0x80 ? c : '_');
    }
    to[n] = 0;
}

static struct row *find_among(struct table *t, size_t n, char labels[MAX_LABELS][MAX_LABEL])
{
    for (size_t i = 0; i < n; i++) {
        bool same = true;
        for (size_t j = 0; j < MAX_LABELS && same; j++)
            same = !strcmp(t->rows[i].labels[j], labels[j]);
        if (same)
            return &t->rows[i];
    }
    return NULL;
}

static struct row *add_row(struct table *t, char labels[MAX_LABELS][MAX_LABEL])
{
    size_t n = atomic_load(&t->n);
    memcpy(t->rows[n].labels, labels, sizeof t->rows[n].labels);
    atomic_store(&t->n, n + 1);
    return &t->rows[n];
}

/* For labels that are not there yet, with the lock held. */
static struct row *new_row(struct table *t, char labels[MAX_LABELS][MAX_LABEL])
{
    size_t n = atomic_load(&t->n), last = MAX_LABELS - 1;
    while (last && !t->labels[last])
        last--;
    if (n + RESERVE < t->room)
        return add_row(t, labels);
    strcpy(labels[last], "other");
    struct row *row = find_among(t, n, labels);
    if (row || n + 1 < t->room)
        return row ? row : add_row(t, labels);
    for (size_t i = 0; i < last; i++)
        strcpy(labels[i], "other");
    row = find_among(t, n, labels);
    return row ? row : add_row(t, labels);
}

static struct row *row_of(struct metrics *metrics, struct table *t, const char *a, const char *b,
                          const char *c)
{
    char labels[MAX_LABELS][MAX_LABEL] = {{0}};
    plain(labels[0], a);
    plain(labels[1], b);
    plain(labels[2], c);
    struct row *row = find_among(t, atomic_load(&t->n), labels);
    if (row)
        return row;
    pthread_mutex_lock(&metrics->adding);
    row = find_among(t, atomic_load(&t->n), labels);
    if (!row)
        row = new_row(t, labels);
    pthread_mutex_unlock(&metrics->adding);
    return row;
}

static void observe(struct row *row, const double *bounds, double seconds)
{
    size_t i = 0;
    while (i < N_BOUNDS && seconds > bounds[i])
        i++;
    atomic_fetch_add(&row->buckets[i], 1);
    atomic_fetch_add(&row->count, 1);
    atomic_fetch_add(&row->sum_ns, seconds > 0 ? (unsigned long long)(seconds * 1e9) : 0);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "unknown";
}

void metrics_grade(struct metrics *metrics, const char *result)
{
    json_auto_t *json = json_loads(result, 0, NULL);
    if (!json)
        return;
    struct table *tables = metrics->tables;
    const char *verdict = text_of(json, "verdict"), *device = text_of(json, "device");
    const char *task = text_of(json_object_get(json, "task"), "name");
    atomic_fetch_add(&row_of(metrics, &tables[GRADES], verdict, device, task)->count, 1);
    if (!strcmp(verdict, kgrade_verdict_name(KGRADE_INFRASTRUCTURE_ERROR))) {
        const char *code = text_of(json_object_get(json, "reason"), "code");
        atomic_fetch_add(&row_of(metrics, &tables[FAULTS], code, device, NULL)->count, 1);
    }
    const char *key;
    json_t *ms;
    json_object_foreach(json_object_get(json, "steps"), key, ms)
    {
        size_t size = strlen(key);
        char step[MAX_LABEL];
        if (!json_is_number(ms) || size < 4 || strcmp(key + size - 3, "_ms"))
            continue;
        snprintf(step, sizeof step, "%.*s", (int)(size - 3), key);
        observe(row_of(metrics, &tables[STEPS], step, device, NULL), grade_bounds,
                json_number_value(ms) / 1e3);
    }
}

void metrics_request(struct metrics *metrics, const char *route, unsigned status, double seconds)
{
    char text[16];
    snprintf(text, sizeof text, "%u", status);
    atomic_fetch_add(&row_of(metrics, &metrics->tables[REQUESTS], route, text, NULL)->count, 1);
    observe(row_of(metrics, &metrics->tables[DURATIONS], route, NULL, NULL), request_bounds,
            seconds);
}

/* Reading. */

/* Text with what the format gives a meaning to, quotes if they are `quoted`, behind a backslash. */
static void put_text(FILE *out, const char *text, bool quoted)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\n')
            fputs("\\n", out);
        else if (*c == '\\' || (*c == '"' && quoted))
            fprintf(out, "\\%c", *c);
        else
            fputc(*c, out);
    }
}

static void put_head(FILE *out, const char *name, const char *help, const char *type)
{
    fprintf(out, "# HELP %s ", name);
    put_text(out, help, false);
    fprintf(out, "\n# TYPE %s %s\n", name, type);
}

/* The shortest that is read back as the same number. */
static void put_number(FILE *out, double value)
{
    char text[32];
    if (isnan(value))
        fputs("NaN", out);
    else if (isinf(value))
        fputs(value > 0 ? "+Inf" : "-Inf", out);
    else {
        snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) == value)
            fputs(text, out);
        else
            fprintf(out, "%.17g", value);
    }
}

static void put_labels(FILE *out, const struct table *t, const struct row *row, const char *bound)
{
    const char *before = "{";
    for (size_t i = 0; i < MAX_LABELS && t->labels[i]; i++) {
        fprintf(out, "%s%s=\"", before, t->labels[i]);
        put_text(out, row->labels[i], true);
        fputc('"', out);
        before = ",";
    }
    if (bound)
        fprintf(out, "%sle=\"%s\"", before, bound);
    fputs("} ", out);
}

static void put_histogram(FILE *out, const struct table *t, struct row *row)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i <= N_BOUNDS; i++) {
        char bound[32] = "+Inf";
        if (i < N_BOUNDS)
            snprintf(bound, sizeof bound, "%g", t->bounds[i]);
        sum += atomic_load(&row->buckets[i]);
        fprintf(out, "%s_bucket", t->name);
        put_labels(out, t, row, bound);
        fprintf(out, "%llu\n", sum);
    }
    fprintf(out, "%s_sum", t->name);
    put_labels(out, t, row, NULL);
    fprintf(out, "%.9f\n%s_count", (double)atomic_load(&row->sum_ns) / 1e9, t->name);
    put_labels(out, t, row, NULL);
    /* Not row->count, which may be ahead of the buckets that were read. */
    fprintf(out, "%llu\n", sum);
}

static void put_table(FILE *out, struct table *t)
{
    size_t n = atomic_load(&t->n);
    if (!n)
        return;
    put_head(out, t->name, t->help, t->bounds ? "histogram" : "counter");
    for (size_t i = 0; i < n; i++) {
        if (t->bounds) {
            put_histogram(out, t, &t->rows[i]);
            continue;
        }
        fputs(t->name, out);
        put_labels(out, t, &t->rows[i], NULL);
        fprintf(out, "%llu\n", atomic_load(&t->rows[i].count));
    }
}

/* All figures of the name of gauges[first], unless an earlier one has it too: a name has one block. */
static void put_gauges(FILE *out, const struct metrics_gauge *gauges, size_t n, size_t first)
{
    const char *name = gauges[first].name;
    for (size_t i = 0; i < first; i++)
        if (!strcmp(gauges[i].name, name))
            return;
    put_head(out, name, gauges[first].help, gauges[first].is_counter ? "counter" : "gauge");
    for (size_t i = first; i < n; i++) {
        if (strcmp(gauges[i].name, name) != 0)
            continue;
        fputs(name, out);
        if (gauges[i].labels)
            fprintf(out, "{%s}", gauges[i].labels);
        fputc(' ', out);
        put_number(out, gauges[i].value);
        fputc('\n', out);
    }
}

char *metrics_text(struct metrics *metrics, const struct metrics_gauge *gauges, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++)
        put_gauges(out, gauges, n, i);
    for (size_t i = 0; i < N_TABLES; i++)
        put_table(out, &metrics->tables[i]);
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return NULL;
    }
    return text;
}
