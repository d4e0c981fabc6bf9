/* From the source to a recording: the build, what it has to know of the device, and the calls that are recorded. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "health.h"
#include "pythons.h"
#include "rehearsal.h"
#include "slot.h"
#include "spec.h"
#include "state.h"

#define WARM_CALLS 20u
#define LARGE_PART 8 /* of a device's memory */

int grade_open_candidate(struct grade *g)
{
    if (g->candidate.worker.jail)
        return 0;
    g->faults = health_faults(g->slot);
    /* What a recording that comes without its source was made from is not known. */
    g->candidate.workspace_bytes =
        spec_workspace(g->device, g->task, g->python != NULL || !g->language);
    return replay_open(g->engine, g->device, g->task, g->cases, g->n_cases, &g->candidate,
                       &g->finding);
}

int grade_take_device(struct grade *g)
{
    if (slot_take(g->slot) == 0)
        return 0;
    return telling_cancelled(&g->telling, &g->finding);
}

/* What to compile for.  Only a device's first grade has to ask a replayer; it is the one that will be used. */
static bool know_target(struct grade *g)
{
    pthread_mutex_lock(&g->slot->lock);
    /* What is quarantined is checked before anything is compiled for it. */
    bool known = g->slot->target_known && !g->slot->health.quarantined;
    memcpy(g->target, g->slot->target, sizeof g->target);
    pthread_mutex_unlock(&g->slot->lock);
    return known;
}

static void set_target(struct grade *g)
{
    snprintf(g->target, sizeof g->target, "%s", replay_target(&g->candidate));
    pthread_mutex_lock(&g->slot->lock);
    memcpy(g->slot->target, g->target, sizeof g->target);
    g->slot->target_known = true;
    pthread_mutex_unlock(&g->slot->lock);
}

static int learn_target(struct grade *g)
{
    if (health_refuse(g->slot, &g->finding))
        return -1;
    if (know_target(g))
        return 0;
    if (grade_take_device(g))
        return -1;
    int result = health_admit(g->engine, g->slot, &g->finding);
    if (!result && !know_target(g)) {
        result = grade_open_candidate(g);
        if (!result)
            set_target(g);
        else
            health_after(g->engine, g->slot, &g->finding, g->telling.cancelled);
    }
    slot_give(g->slot);
    return result;
}

int grade_build(struct grade *g)
{
    if (grade_proceed(g, "building", 0, 1) || learn_target(g))
        return -1;
    if (g->python) /* what it is, for the result: not asked while the device is held */
        pythons_ask(g->engine, g->python, NULL);
    uint64_t start = io_now();
    int result = build_candidate(g->engine, g->device, g->language, g->target, g->source,
                                 g->source_size, &g->library, &g->build_cached, &g->finding);
    if (!result)
        result = rehearsal_run(g);
    g->step_ns[STEP_TIME_BUILD] = io_now() - start;
    return result;
}

static bool record_told(void *data, size_t done)
{
    struct grade *g = data;
    return telling_tell(&g->telling, "recording", g->recording_from + done, g->n_recorded);
}

static int make_request(struct grade *g, bool secret, struct record_request *ret)
{
    size_t first = secret ? g->n_public : 0;
    *ret = (struct record_request){.device = g->device,
                                   .task = g->task,
                                   .cases = g->cases + first,
                                   .n_cases = (secret ? g->n_recorded : g->n_public) - first,
                                   .warm_calls = secret ? 1 : WARM_CALLS,
                                   .secret = secret,
                                   .opening = &g->recorders[secret],
                                   .library = &g->library,
                                   .python = g->python,
                                   .seeds = {&g->seeds[0], secret ? &g->seeds[1] : NULL},
                                   .graves = &g->graves};
    if (secret && ret->n_cases && !g->again && grade_choose_again(g))
        return -1;
    if (secret && g->again) {
        ret->again = &g->cases[g->again_case];
        ret->ret_again = g->again;
    }
    return 0;
}

static int record_part(struct grade *g, bool secret)
{
    struct record_request request;
    struct host_overhead overheads[GRADE_MAX_CASES];
    memset(overheads, 0, sizeof overheads);
    if (make_request(g, secret, &request))
        return -1;
    if (request.n_cases == 0)
        return 0;
    size_t first = g->recording_from = (size_t)(request.cases - g->cases);
    if (record_cases(g->engine, &request, g->recording, overheads, record_told, g, &g->finding))
        return -1;
    for (size_t i = 0; i < request.n_cases; i++) {
        g->results[first + i].recorded = true;
        g->results[first + i].overhead = overheads[i];
    }
    return 0;
}

/* A recording is as large as what the candidate keeps in its own memory. */
int grade_blame_recording(struct grade *g, const kgrade_error *err)
{
    if (strcmp(err->code, "recording_too_large"))
        return finding_infrastructure(&g->finding, err);
    return finding_set(&g->finding, KGRADE_REFUSED, err->code, err->hint, "%s", err->message);
}

/* Whether a device has no room for several arenas at once. */
static bool is_large(const struct grade *g)
{
    uint64_t bytes;
    json_int_t memory = json_integer_value(json_object_get(g->candidate.info, "memory_bytes"));
    return memory > 0 && task_largest(g->task, g->cases, g->n_cases, &bytes, NULL) == 0 &&
           bytes + g->candidate.workspace_bytes > (uint64_t)memory / LARGE_PART;
}

/* While the other workers get ready; and before a process dies that has used the device, for which its driver would keep it
 * waiting. */
int grade_ask_recorders(struct grade *g)
{
    for (int secret = 0; secret < 2; secret++) {
        struct record_request request;
        if (!g->language || !g->device->start_ahead || (secret && is_large(g)))
            return 0;
        if (make_request(g, secret, &request) ||
            (request.n_cases && record_ask(g->engine, &request, request.opening, &g->finding)))
            return -1;
    }
    return 0;
}

int grade_hear_recorders(struct grade *g)
{
    for (int secret = 0; secret < 2; secret++) {
        struct record_request request;
        if (g->recorders[secret].worker.jail &&
            (make_request(g, secret, &request) ||
             record_hear(g->engine, &request, request.opening, &g->finding)))
            return -1;
    }
    return 0;
}

int grade_record(struct grade *g)
{
    kgrade_error err = {.code = ""};
    uint64_t start = io_now();
    g->recording = recording_new(g->device->name, g->task);
    if (!g->recording)
        return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory.");
    int result = record_part(g, false);
    if (!result && recording_write(g->recording, &g->public_recording, &err))
        result = grade_blame_recording(g, &err);
    if (is_large(g))
        graves_wait(&g->graves);
    /* Hidden dims go to a process of their own, from which nothing comes back to the author. */
    if (!result)
        result = record_part(g, true);
    g->step_ns[STEP_TIME_RECORD] = io_now() - start;
    return result;
}
