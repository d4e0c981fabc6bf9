#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../task/values.h"
#include "../worker_io.h"
#include "foreign.h"
#include "host.h"

#define NAN_IN_OUTPUT "nan_in_output"
#define JUDGE_MAX_MANTISSA_BITS 52
#define JUDGE_MAX_SNAPSHOT_BYTES (24ull << 30) /* all snapshots that are held together */
#define JUDGE_KEPT_BLOCK_BYTES (64 << 20)
#define JUDGE_KEPT_BYTES (512 << 20)

struct judge {
    const struct judge_device *device;
    const struct judge_python *python; /* NULL: this is no interpreter */
    void *state;                       /* the device's */
    struct task *task;
    struct host_reference host;
    bool on_device; /* the device has a reference of its own */
    struct snapshot snapshots[JUDGE_MAX_SNAPSHOTS];
    uint64_t held_bytes;
    /* Of a foreign task: */
    struct foreign foreign;
    uint8_t *inputs; /* where the next sample's are written for the replayers; NULL: in the arena */
    uint64_t inputs_bytes;
};

/* Inputs of a foreign task are written into the arena, where that can be. */
static int attach(struct judge *j, int arena_fd, kgrade_error *err)
{
    bool fills = j->python && j->task->python && j->device->memory;
    if (j->device->attach(arena_fd, fills, &j->state, err))
        return -1;
    j->foreign = (struct foreign){.device = {.memory = fills ? j->device->memory : NULL,
                                             .state = j->state,
                                             .task = j->task,
                                             .python = j->python},
                                  .snapshots = j->snapshots};
    return 0;
}

static int open_judge(struct judge *j, const json_t *request, int arena_fd, kgrade_error *err)
{
    const char *text = json_string_value(json_object_get(request, "task"));
    if (j->task || !text || arena_fd < 0)
        return fail(err, "wire_invalid", NULL,
                    "The judge was not opened with one task and an arena.");
    if (worker_started(err) || task_parse(text, strlen(text), "task.json", &j->task, err))
        return -1;
    return attach(j, arena_fd, err) ? -1 : worker_ok(NULL, NULL, 0, -1);
}

/* What a device keeps in its state besides the arena, a reference of its own or a foreign task's samples, would be lost. */
static int move_judge(struct judge *j, int arena_fd, kgrade_error *err)
{
    if (!j->state || j->on_device || j->foreign.device.memory || arena_fd < 0)
        return fail(err, "wire_invalid", NULL, "The judge was not ready for another arena.");
    j->device->detach(j->state);
    j->state = NULL;
    return attach(j, arena_fd, err) ? -1 : worker_ok(NULL, NULL, 0, -1);
}

static int load_reference(struct judge *j, int fd, kgrade_error *err)
{
    if (!j->task || j->host.call || host_reference_ready(&j->host))
        return fail(err, "wire_invalid", NULL, "The judge was not ready for a reference.");
    return host_reference_load(&j->host, j->task, fd, err) ? -1 : worker_ok(NULL, NULL, 0, -1);
}

/* --- foreign tasks --- */

static int describe(const struct judge *j, const struct bytes *blob, kgrade_error *err)
{
    cleanup_free char *problem = strndup((const char *)blob->data, blob->size), *text = NULL;
    if (!j->python || !problem)
        return fail(err, "wire_invalid", NULL, "There is no interpreter here.");
    if (worker_started(err) || j->python->describe(problem, &text, err))
        return -1;
    return worker_ok(NULL, text, strlen(text), -1);
}

static int load_python(struct judge *j, const struct bytes *blob, kgrade_error *err)
{
    cleanup_free char *files = strndup((const char *)blob->data, blob->size);
    if (!j->python || !j->task || !j->task->python || j->host.call ||
        host_reference_ready(&j->host) || !files)
        return fail(err, "wire_invalid", NULL, "The judge was not ready for a foreign task.");
    return host_reference_load_python(&j->host, j->task, j->python, files, err)
               ? -1
               : worker_ok(json_pack("{s:b}", "fills", j->foreign.device.memory != NULL), NULL, 0,
                           -1);
}

static int map_inputs(struct judge *j, int fd, kgrade_error *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (j->inputs || fstat(fd, &st) || seals < 0 || !(seals & F_SEAL_SHRINK) || st.st_size <= 0)
        return fail(err, "wire_invalid", NULL, "There is no place for inputs.");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The place for inputs could not be mapped");
    j->inputs = at;
    j->inputs_bytes = (uint64_t)st.st_size;
    return 0;
}

static int make_inputs(struct judge *j, const json_t *request, int fd, kgrade_error *err)
{
    struct judge_case c = {.seed = wire_u64(request, "seed")};
    if (!j->host.python)
        return fail(err, "wire_invalid", NULL, "Inputs were wanted before there was a task.");
    if ((fd >= 0 && map_inputs(j, fd, err)) || wire_dims(request, j->task->n_dims, c.dims, err) ||
        task_layout(j->task, c.dims, &c.layout, err))
        return -1;
    bool in_arena = !j->inputs && j->foreign.device.memory;
    if (!in_arena && c.layout.bytes > j->inputs_bytes)
        return fail(err, "wire_invalid", NULL, "There is no room for the inputs of a case.");
    return (in_arena ? foreign_fill(&j->foreign, &c, err)
                     : j->python->inputs(j->task, &c, c.seed, false, j->inputs, err))
               ? -1
               : worker_ok(NULL, NULL, 0, -1);
}

static int load_device_reference(struct judge *j, const json_t *request, int fd, kgrade_error *err)
{
    if (!j->host.function || !j->state || j->on_device || !j->device->reference)
        return fail(err, "wire_invalid", NULL, "The judge was not ready for a device's reference.");
    if (j->device->reference->load(j->state, j->task, fd, err) ||
        (json_is_true(json_object_get(request, "check")) &&
         host_check_device(&j->host, j->device, j->state, err)))
        return -1;
    j->on_device = true;
    return worker_ok(NULL, NULL, 0, -1);
}

/* --- snapshots --- */

static int check_canaries(const struct judge *j, struct snapshot *s, kgrade_error *err)
{
    s->canaries_intact = true;
    for (size_t i = 0; i < s->c.layout.n_buffers; i++) {
        const struct layout_buffer *b = &s->c.layout.buffers[i];
        uint8_t expected[LAYOUT_PAGE + LAYOUT_CANARY], got[sizeof expected];
        size_t n = b->canary < sizeof expected ? (size_t)b->canary : sizeof expected;
        if (j->device->read(j->state, b->offset + b->bytes, n, got, err))
            return -1;
        values_canary(expected, n, s->c.poison, (uint32_t)b->param);
        s->canaries_intact = s->canaries_intact && !memcmp(expected, got, n);
    }
    return 0;
}

static uint64_t bytes_to_hold(const struct judge *j, const struct judge_case *c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; j->on_device && i < c->layout.n_buffers; i++)
        if (j->task->params[c->layout.buffers[i].param].kind != PARAM_IN)
            bytes += c->layout.buffers[i].bytes;
    return j->on_device ? bytes : c->layout.bytes;
}

static int copy_case(const struct judge *j, struct snapshot *s, kgrade_error *err)
{
    cleanup_free uint8_t *data = malloc(s->c.layout.bytes);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for a snapshot of %llu bytes.",
                    (unsigned long long)s->c.layout.bytes);
    for (size_t i = 0; i < s->c.layout.n_buffers; i++) {
        const struct layout_buffer *b = &s->c.layout.buffers[i];
        if (j->device->read(j->state, b->offset, b->bytes, data + b->offset, err))
            return -1;
    }
    s->data = steal_pointer(&data);
    return 0;
}

static int keep_sample(struct judge *j, struct snapshot *s, kgrade_error *err)
{
    if (j->on_device)
        return j->device->reference->keep(j->state, &s->c, &s->kept, &s->input_changed, err);
    if (j->foreign.device.memory && foreign_keep(&j->foreign, s, err))
        return -1;
    return s->kept_whole ? 0 : copy_case(j, s, err);
}

static int take_snapshot(struct judge *j, const json_t *request, kgrade_error *err)
{
    struct snapshot s = {
        .taken = true,
        .c = {.seed = wire_u64(request, "seed"), .poison = wire_u64(request, "poison")}};
    if (!j->state)
        return fail(err, "wire_invalid", NULL,
                    "A snapshot was to be taken before the judge was opened.");
    if (wire_dims(request, j->task->n_dims, s.c.dims, err) ||
        task_layout(j->task, s.c.dims, &s.c.layout, err) ||
        task_draw_from(j->task, wire_values(request), &s.c.layout, err))
        return -1;
    size_t id = 0;
    while (id < JUDGE_MAX_SNAPSHOTS && j->snapshots[id].taken)
        id++;
    s.bytes = bytes_to_hold(j, &s.c);
    if (id == JUDGE_MAX_SNAPSHOTS || s.bytes > JUDGE_MAX_SNAPSHOT_BYTES - j->held_bytes)
        return fail(err, "judge_memory", "Judge fewer samples at once.",
                    "The judge holds too many snapshots.");
    if (check_canaries(j, &s, err) || keep_sample(j, &s, err))
        return -1;
    j->snapshots[id] = s;
    j->held_bytes += s.bytes;
    return worker_ok(json_pack("{s:I}", "id", (json_int_t)id), NULL, 0, -1);
}

static void drop_snapshot(struct judge *j, struct snapshot *s)
{
    j->held_bytes -= s->bytes;
    free(s->data);
    if (s->kept)
        j->device->reference->drop(j->state, s->kept);
    if (s->kept_whole)
        on_device_drop(&j->foreign.device, s->kept_whole);
    *s = (struct snapshot){.taken = false};
}

/* --- judging --- */

static json_t *numbers(const double *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, wire_number_json(values[i]));
    return array;
}

static json_t *comparison_json(const struct comparison *c, const char *param)
{
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:o, s:o, s:o}}", "parameter", param, "count",
        (json_int_t)c->count, "bad", (json_int_t)c->bad, "nan", (json_int_t)c->nan, "unwritten",
        (json_int_t)c->unwritten, "norm", wire_number_json(c->norm), "worst", "index",
        (json_int_t)c->worst_index, "error", wire_number_json(c->worst_error), "expected",
        wire_number_json(c->worst_expected), "got", wire_number_json(c->worst_got));
    if (c->n_around && !comparison_passes(c))
        json_object_set_new(json, "around",
                            json_pack("{s:I, s:o, s:o}", "first", (json_int_t)c->around_first,
                                      "expected", numbers(c->around_expected, c->n_around), "got",
                                      numbers(c->around_got, c->n_around)));
    return json;
}

static const char *code_of(const struct comparison *c)
{
    if (c->nan)
        return NAN_IN_OUTPUT;
    if (c->unwritten)
        return "output_not_written";
    return "wrong_values";
}

/* The first output that fails gives the code and the figures, else the one with the largest norm. */
static void sum_up(const struct judge *j, const struct judge_case *c,
                   const struct comparison *comparisons, const char **ret_code,
                   json_t **ret_figures)
{
    double largest = -1;
    for (size_t i = 0; i < c->layout.n_buffers && !*ret_code; i++) {
        const struct param *p = &j->task->params[c->layout.buffers[i].param];
        const struct comparison *comparison = &comparisons[i];
        if (p->kind == PARAM_IN)
            continue;
        bool pass = comparison_passes(comparison);
        if (!pass)
            *ret_code = code_of(comparison);
        if (!pass || comparison->norm > largest) {
            largest = comparison->norm;
            json_decref(*ret_figures);
            *ret_figures = comparison_json(comparison, p->name);
        }
    }
}

/* What the task's own check has said comes before the comparison.  But checks that look for large differences find none where
 * there is no number. */
static const char *code_of_check(const struct judge *j, const struct judge_case *c,
                                 const struct comparison *comparisons, bool right, const char *code)
{
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        if (j->task->params[c->layout.buffers[i].param].kind != PARAM_IN && comparisons[i].nan)
            return NAN_IN_OUTPUT;
    return right ? NULL : code ? code : "wrong_values";
}

/* *ret_decided: the task's own check has said whether the outputs are right. */
static int compare_on_host(const struct judge *j, struct snapshot *s, struct comparison *ret,
                           bool *ret_decided, bool *ret_pass, kgrade_error *err)
{
    cleanup_operands struct operands expected = {.n = 0};
    return host_evaluate(&j->host, &s->c, s->data, NULL, &expected, &s->input_changed, err) ||
                   host_compare(j->task, &s->c, s->data, &expected, ret, err) ||
                   host_check(&j->host, &s->c, s->data, &expected, ret_decided, ret_pass, err)
               ? -1
               : 0;
}

static int compare_sample(struct judge *j, struct snapshot *s, struct comparison *ret,
                          bool *ret_decided, bool *ret_pass, kgrade_error *err)
{
    if (s->kept)
        return j->device->reference->compare(j->state, &s->c, s->kept, ret, err);
    if (s->kept_whole && foreign_compare(&j->foreign, s, ret, ret_decided, ret_pass, err))
        return -1;
    return s->kept_whole ? 0 : compare_on_host(j, s, ret, ret_decided, ret_pass, err);
}

static int judge_snapshot(struct judge *j, const json_t *request, kgrade_error *err)
{
    json_int_t id = json_integer_value(json_object_get(request, "id"));
    if (!host_reference_ready(&j->host) || id < 0 || id >= JUDGE_MAX_SNAPSHOTS ||
        !j->snapshots[id].taken)
        return fail(err, "wire_invalid", NULL, "There is no such snapshot.");
    struct snapshot *s = &j->snapshots[id];
    struct comparison comparisons[TASK_MAX_PARAMS];
    bool decided = false, right = false;
    int result = compare_sample(j, s, comparisons, &decided, &right, err);
    const char *code = NULL;
    json_t *figures = NULL;
    if (!result)
        sum_up(j, &s->c, comparisons, &code, &figures);
    if (decided && !result)
        code = code_of_check(j, &s->c, comparisons, right, code);
    if (s->input_changed)
        code = "input_modified";
    else if (!s->canaries_intact)
        code = "out_of_bounds_write";
    drop_snapshot(j, s);
    if (result)
        return -1;
    return worker_ok(
        json_pack("{s:b, s:s?, s:o?}", "pass", code == NULL, "code", code, "correctness", figures),
        NULL, 0, -1);
}

/* --- answering --- */

static int answer(const struct judge *j, const json_t *request, int fd, kgrade_error *err)
{
    struct judge_case c = {.seed = wire_u64(request, "seed")};
    const json_t *param = json_object_get(request, "vary");
    json_int_t bits = json_integer_value(json_object_get(request, "mantissa_bits"));
    struct host_twist twist = {SIZE_MAX, wire_u64(request, "vary_seed"), 0};
    if (!host_reference_ready(&j->host))
        return fail(err, "wire_invalid", NULL, "An answer was wanted without a reference.");
    if (json_is_integer(param))
        twist.param = (size_t)json_integer_value(param);
    if (bits > 0 && bits <= JUDGE_MAX_MANTISSA_BITS)
        twist.mantissa_bits = (unsigned)bits;
    if (wire_dims(request, j->task->n_dims, c.dims, err) ||
        task_layout(j->task, c.dims, &c.layout, err) ||
        task_draw_from(j->task, wire_values(request), &c.layout, err))
        return -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size < c.layout.bytes)
        return fail(err, "wire_invalid", NULL, "There is no room for an answer.");
    uint8_t *arena = mmap(NULL, (size_t)c.layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The arena could not be mapped");
    int result = host_answer(&j->host, &c, &twist, arena, err);
    munmap(arena, (size_t)c.layout.bytes);
    return result ? -1 : worker_ok(NULL, NULL, 0, -1);
}

static int serve(struct judge *j, const struct wire_message *message, const char *op)
{
    kgrade_error err = {.code = ""};
    int result = -1;
    if (!strcmp(op, "ready"))
        result = worker_started(&err) ? -1 : worker_ok(NULL, NULL, 0, -1);
    else if (!strcmp(op, "open"))
        result = open_judge(j, message->json, message->fd, &err);
    else if (!strcmp(op, "move"))
        result = move_judge(j, message->fd, &err);
    else if (!strcmp(op, "reference"))
        result = load_reference(j, message->fd, &err);
    else if (!strcmp(op, "describe"))
        result = describe(j, &message->blob, &err);
    else if (!strcmp(op, "python"))
        result = load_python(j, &message->blob, &err);
    else if (!strcmp(op, "inputs"))
        result = make_inputs(j, message->json, message->fd, &err);
    else if (!strcmp(op, "device_reference"))
        result = load_device_reference(j, message->json, message->fd, &err);
    else if (!strcmp(op, "snapshot"))
        result = take_snapshot(j, message->json, &err);
    else if (!strcmp(op, "judge"))
        result = judge_snapshot(j, message->json, &err);
    else if (!strcmp(op, "answer"))
        result = answer(j, message->json, message->fd, &err);
    else
        fail(&err, "wire_invalid", NULL, "Unknown request.");
    return result && err.code[0] ? worker_fail("infrastructure_error", &err) : result;
}

/* What is started ahead knows of no judge. */
static const struct judge_device *started;

static int start(kgrade_error *err)
{
    return started->start ? started->start(err) : 0;
}

/* The buffers of one sample are those of the next: the kernel would clear each anew, which takes as long as using it. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, JUDGE_KEPT_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, JUDGE_KEPT_BYTES);
}

int judge_worker_main(const struct judge_device *device, const struct judge_python *python)
{
    keep_freed_memory();
    struct judge j = {.device = device, .python = python};
    started = device;
    worker_start_ahead(start);
    for (;;) {
        cleanup_message struct wire_message message = {.fd = -1};
        const char *op;
        if (worker_next(&message, &op) || serve(&j, &message, op))
            break;
    }
    for (size_t i = 0; i < JUDGE_MAX_SNAPSHOTS; i++)
        if (j.snapshots[i].taken)
            drop_snapshot(&j, &j.snapshots[i]);
    if (j.state)
        device->detach(j.state);
    host_reference_free(&j.host);
    task_free(j.task);
    return 0;
}
