#define _GNU_SOURCE
#include "worker.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../task/call.h"
#include "../task/values.h"
#include "../worker_io.h"
#include "compare.h"

#define JUDGE_MAX_SNAPSHOTS 64
#define JUDGE_MAX_SNAPSHOT_BYTES (24ull << 30) /* all snapshots that are held together */
#define JUDGE_BLOCK 65536u                     /* elements compared or generated at a time */

struct snapshot {
    int64_t dims[TASK_MAX_PARAMS];
    struct layout layout;
    uint64_t seed, poison;
    uint8_t *data; /* the case's part of the arena; NULL: a free place */
};

struct judge {
    const struct judge_device *device;
    void *state; /* the device's */
    struct task *task;
    struct call *call;
    void (*reference)(void);
    struct snapshot snapshots[JUDGE_MAX_SNAPSHOTS];
    uint64_t held_bytes;
};

static int open_judge(struct judge *j, const json_t *request, int arena_fd, kgrade_error *err)
{
    const char *text = json_string_value(json_object_get(request, "task"));
    if (j->task || !text || arena_fd < 0)
        return fail(err, "wire_invalid", NULL,
                    "The judge was not opened with one task and an arena.");
    if (worker_started(err) || task_parse(text, strlen(text), "task.json", &j->task, err) ||
        call_new_reference(j->task, &j->call, err))
        return -1;
    return j->device->attach(arena_fd, &j->state, err) ? -1 : worker_ok(NULL, NULL, 0, -1);
}

static int load_reference(struct judge *j, int fd, kgrade_error *err)
{
    void *library = worker_load(fd);
    void *symbol = library ? dlsym(library, "reference") : NULL;
    if (!symbol)
        return fail(err, "reference_failed", "Define `reference` in the task's reference.c.",
                    "The task's reference could not be loaded: %s", worker_load_error());
    memcpy(&j->reference, &symbol, sizeof symbol);
    return worker_ok(NULL, NULL, 0, -1);
}

static int take_snapshot(struct judge *j, const json_t *request, kgrade_error *err)
{
    struct snapshot s = {.seed = wire_u64(request, "seed"), .poison = wire_u64(request, "poison")};
    if (!j->task)
        return fail(err, "wire_invalid", NULL,
                    "A snapshot was to be taken before the judge was opened.");
    if (wire_dims(request, j->task->n_dims, s.dims, err) ||
        task_layout(j->task, s.dims, &s.layout, err))
        return -1;
    size_t id = 0;
    while (id < JUDGE_MAX_SNAPSHOTS && j->snapshots[id].data)
        id++;
    if (id == JUDGE_MAX_SNAPSHOTS || s.layout.bytes > JUDGE_MAX_SNAPSHOT_BYTES - j->held_bytes)
        return fail(err, "judge_memory", "Judge fewer samples at once.",
                    "The judge holds too many snapshots.");
    cleanup_free uint8_t *data = malloc(s.layout.bytes);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for a snapshot of %llu bytes.",
                    (unsigned long long)s.layout.bytes);
    for (size_t i = 0; i < s.layout.n_buffers; i++) {
        const struct layout_buffer *b = &s.layout.buffers[i];
        if (j->device->read(j->state, b->offset, b->bytes + b->canary, data + b->offset, err))
            return -1;
    }
    s.data = steal_pointer(&data);
    j->snapshots[id] = s;
    j->held_bytes += s.layout.bytes;
    return worker_ok(json_pack("{s:I}", "id", (json_int_t)id), NULL, 0, -1);
}

static void drop_snapshot(struct judge *j, struct snapshot *s)
{
    j->held_bytes -= s->layout.bytes;
    free(s->data);
    s->data = NULL;
}

/* Values in the reference's types, for every buffer; freed as a whole. */
struct operands {
    void *wide[TASK_MAX_PARAMS]; /* by index in the layout */
    size_t n;
};

static void operands_free(struct operands *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->wide[i]);
}

/* Draws a buffer's values again, piece by piece: compares them with the snapshot when it is an input that must not
 * change, and widens them for the reference. */
static int redraw(const struct snapshot *s, const struct layout_buffer *b, const struct param *p,
                  void *wide, bool *ret_changed, kgrade_error *err)
{
    size_t size = dtype_size(p->dtype);
    cleanup_free uint8_t *block = malloc(JUDGE_BLOCK * size);
    if (!block)
        return fail(err, "out_of_memory", NULL, "No memory to draw the inputs again.");
    for (uint64_t at = 0; at < b->count; at += JUDGE_BLOCK) {
        size_t n = b->count - at < JUDGE_BLOCK ? (size_t)(b->count - at) : JUDGE_BLOCK;
        values_fill(block, p->dtype, at, n, b->count, &p->values, s->seed, (uint32_t)b->param);
        if (p->kind == PARAM_IN && memcmp(block, s->data + b->offset + at * size, n * size))
            *ret_changed = true;
        dtype_widen(p->dtype, block, n, (uint8_t *)wide + at * 8);
    }
    return 0;
}

static bool canary_intact(const struct snapshot *s, const struct layout_buffer *b)
{
    uint8_t expected[LAYOUT_PAGE + LAYOUT_CANARY];
    if (b->canary > sizeof expected)
        return false;
    values_canary(expected, (size_t)b->canary, s->poison, (uint32_t)b->param);
    return !memcmp(expected, s->data + b->offset + b->bytes, (size_t)b->canary);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *comparison_json(const struct comparison *c, const char *param)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:o, s:o, s:o}}", "parameter", param,
                     "count", (json_int_t)c->count, "bad", (json_int_t)c->bad, "nan",
                     (json_int_t)c->nan, "unwritten", (json_int_t)c->unwritten, "norm",
                     number(c->norm), "worst", "index", (json_int_t)c->worst_index, "error",
                     number(c->worst_error), "expected", number(c->worst_expected), "got",
                     number(c->worst_got));
}

static const char *code_of(const struct comparison *c)
{
    if (c->nan)
        return "nan_in_output";
    if (c->unwritten)
        return "output_not_written";
    return "wrong_values";
}

/* Compares every output; the first that fails gives the code and the figures, else the one with the largest norm. */
static int compare_all(const struct judge *j, const struct snapshot *s, const struct operands *o,
                       const char **ret_code, json_t **ret_figures, kgrade_error *err)
{
    double largest = -1;
    for (size_t i = 0; i < s->layout.n_buffers && !*ret_code; i++) {
        const struct layout_buffer *b = &s->layout.buffers[i];
        const struct param *p = &j->task->params[b->param];
        if (p->kind == PARAM_IN)
            continue;
        cleanup_free uint8_t *poison = malloc((size_t)b->bytes + 1);
        if (!poison)
            return fail(err, "out_of_memory", NULL, "No memory to compare an output.");
        values_poison(poison, p->dtype, 0, (size_t)b->count, s->poison, (uint32_t)b->param);
        struct comparison c;
        compare_output(p->dtype, s->data + b->offset, poison, o->wide[i], b->count,
                       task_tolerance(j->task, p->dtype), &c);
        bool pass = comparison_passes(&c);
        if (!pass)
            *ret_code = code_of(&c);
        if (!pass || c.norm > largest) {
            largest = c.norm;
            json_decref(*ret_figures);
            *ret_figures = comparison_json(&c, p->name);
        }
    }
    return 0;
}

static int judge_snapshot(struct judge *j, const json_t *request, kgrade_error *err)
{
    json_int_t id = json_integer_value(json_object_get(request, "id"));
    if (!j->reference || id < 0 || id >= JUDGE_MAX_SNAPSHOTS || !j->snapshots[id].data)
        return fail(err, "wire_invalid", NULL, "There is no such snapshot.");
    struct snapshot *s = &j->snapshots[id];
    __attribute__((cleanup(operands_free))) struct operands o = {.n = s->layout.n_buffers};
    bool changed = false, canaries = true;
    call_set_dims(j->call, s->dims);
    for (size_t i = 0; i < s->layout.n_buffers; i++) {
        const struct layout_buffer *b = &s->layout.buffers[i];
        const struct param *p = &j->task->params[b->param];
        o.wide[i] = calloc((size_t)b->count + 1, 8);
        if (!o.wide[i])
            return fail(err, "out_of_memory", NULL, "No memory for the reference's operands.");
        if (p->kind != PARAM_OUT && redraw(s, b, p, o.wide[i], &changed, err))
            return -1;
        canaries = canaries && canary_intact(s, b);
        call_set_pointer(j->call, b->param, o.wide[i]);
    }
    call_invoke(j->call, j->reference);
    const char *code = NULL;
    json_t *figures = NULL;
    int result = compare_all(j, s, &o, &code, &figures, err);
    if (changed)
        code = "input_modified";
    else if (!canaries)
        code = "out_of_bounds_write";
    drop_snapshot(j, s);
    if (result) {
        json_decref(figures);
        return -1;
    }
    return worker_ok(
        json_pack("{s:b, s:s?, s:o?}", "pass", code == NULL, "code", code, "correctness", figures),
        NULL, 0, -1);
}

static int serve(struct judge *j, const struct wire_message *message, const char *op)
{
    kgrade_error err = {.code = ""};
    int result = -1;
    if (!strcmp(op, "open"))
        result = open_judge(j, message->json, message->fd, &err);
    else if (!strcmp(op, "reference"))
        result = load_reference(j, message->fd, &err);
    else if (!strcmp(op, "snapshot"))
        result = take_snapshot(j, message->json, &err);
    else if (!strcmp(op, "judge"))
        result = judge_snapshot(j, message->json, &err);
    else
        fail(&err, "wire_invalid", NULL, "Unknown request.");
    return result && err.code[0] ? worker_fail("infrastructure_error", &err) : result;
}

int judge_worker_main(const struct judge_device *device)
{
    struct judge j = {.device = device};
    worker_start_device(device->start);
    for (;;) {
        cleanup_message struct wire_message message = {.fd = -1};
        const char *op;
        if (worker_next(&message, &op) || serve(&j, &message, op))
            break;
    }
    for (size_t i = 0; i < JUDGE_MAX_SNAPSHOTS; i++)
        free(j.snapshots[i].data);
    if (j.state)
        device->detach(j.state);
    call_free(j.call);
    task_free(j.task);
    return 0;
}
