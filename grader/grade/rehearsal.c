#define _GNU_SOURCE
#include "rehearsal.h"

#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../python/arguments.h"

#define ADDRESS 0x601000000000ull /* as aligned as device memory is; nobody touches it */
#define WAIT_NS (120 * IO_NS_PER_S)
#define MAX_SEED_BYTES (64u << 20)

struct part {
    struct worker worker;
    struct worker_question question;
};

static bool names(const struct grade *g, const char *word)
{
    return memmem(g->source, g->source_size, word, strlen(word)) != NULL;
}

bool rehearsal_is_due(const struct grade *g)
{
    return (names(g, "triton") || names(g, "cpp_extension")) && g->device->rehearsal && g->python;
}

/* Several grades may want the spares at a time.  An extension takes far longer to compile than an interpreter to start. */
static bool take(const struct grade *g, struct worker *ret)
{
    return worker_take_spare(g->engine, g->device, STEP_REHEARSE, g->python, ret) ||
           (names(g, "cpp_extension") &&
            !worker_start(g->engine, g->device, STEP_REHEARSE, g->python, 2 * WAIT_NS, ret, NULL));
}

static json_t *describe_calls(const struct grade *g, size_t first, size_t end)
{
    void *pointers[TASK_MAX_PARAMS];
    json_t *calls = json_array();
    for (size_t i = 0; i < g->task->n_params; i++)
        pointers[i] = g->task->params[i].kind == PARAM_STREAM
                          ? NULL
                          : (void *)(uintptr_t)ADDRESS; /* NOLINT(performance-no-int-to-ptr) */
    for (size_t i = first; i < end; i++) {
        cleanup_free char *text = arguments_call(g->task, g->cases[i].dims, pointers, NULL);
        if (text)
            json_array_append_new(calls, json_string(text));
    }
    return calls;
}

static void begin(const struct grade *g, size_t first, size_t end, struct part *ret)
{
    cleanup_free char *task = arguments_task(g->task, NULL);
    if (first == end || !task || !take(g, &ret->worker))
        return;
    worker_ask(&ret->worker,
               json_pack("{s:s, s:s, s:s, s:o}", "op", "rehearse", "target", g->target, "task",
                         task, "cases", describe_calls(g, first, end)),
               g->source, g->source_size, io_now() + WAIT_NS, &ret->question);
}

/* Only the public cases' rehearsal is listened to. */
static int look_for_failure(struct grade *g, const struct part *part, const json_t *answer)
{
    const char *why = json_string_value(json_object_get(answer, "unbuildable"));
    if (!why)
        return 0;
    finding_set(&g->finding, KGRADE_BUILD_FAILED, "python_import_failed",
                "The log has the compiler's messages.", "%s", why);
    g->finding.log = worker_log(&part->worker);
    return -1;
}

static int end(struct grade *g, struct part *part, struct bytes *ret)
{
    int result = 0;
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (!part->worker.jail)
        return 0;
    worker_hear(&part->worker, &part->question, io_now() + WAIT_NS, &o);
    if (o.answer == WORKER_ANSWERED && ret == &g->seeds[0])
        result = look_for_failure(g, part, o.message.json);
    if (o.answer == WORKER_ANSWERED && o.message.blob.size <= MAX_SEED_BYTES) {
        *ret = o.message.blob;
        o.message.blob = (struct bytes){0};
    }
    worker_bury(&part->worker, &g->graves);
    return result;
}

int rehearsal_run(struct grade *g)
{
    int result = 0;
    struct part parts[] = {{.worker = WORKER_NONE}, {.worker = WORKER_NONE}};
    if (!rehearsal_is_due(g))
        return 0;
    begin(g, 0, g->n_public, &parts[0]);
    begin(g, g->n_public, g->n_recorded, &parts[1]);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (end(g, &parts[i], &g->seeds[i]))
            result = -1;
    return result;
}
