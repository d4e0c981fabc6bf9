/*
 * One grade: build, record, replay, judge, in that order, each in processes of its own.  This file only decides what
 * comes next; what an outcome means is in prepare.c and timing.c, how a step is done in the step's folder.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "grade.h"
#include "health.h"
#include "jails.h"
#include "rehearsal.h"
#include "slot.h"
#include "state.h"

int grade_proceed(struct grade *g, const char *step, size_t done, size_t total)
{
    return telling_proceed(&g->telling, step, done, total, &g->finding);
}

static void grade_free(struct grade *g)
{
    jails_ask_while_waiting(NULL, NULL);
    grade_close_workers(g, &g->graves);
    graves_wait(&g->graves);
    recording_free(g->recording);
    recording_free(g->again);
    json_decref(g->device_state);
    bytes_free(&g->library);
    for (size_t i = 0; i < RECORD_MAX_SEEDS; i++)
        bytes_free(&g->seeds[i]);
    bytes_free(&g->public_recording);
    bytes_free(&g->code);
    for (size_t i = 0; i < g->n_cases; i++)
        json_decref(g->results[i].correctness);
    finding_free(&g->finding);
    free(g);
}

static void cleanup_grade_(struct grade **g)
{
    if (*g)
        grade_free(*g);
}
#define cleanup_grade __attribute__((cleanup(cleanup_grade_)))

static void make_id(char ret[KGRADE_ID_DIGITS + 1])
{
    uint8_t random[KGRADE_ID_DIGITS / 2];
    io_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(ret + 2 * i, 3, "%02x", random[i]);
}

static struct grade *grade_new(kgrade *engine, const struct task *task, const struct device *device,
                               kgrade_progress progress, void *data)
{
    static const struct replay no_replay = REPLAY_NONE;
    static const struct judge_client no_judge = JUDGE_NONE;
    static const struct record_opening no_recorder = RECORD_OPENING_NONE;
    struct grade *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->engine = engine;
    g->task = task;
    g->device = device;
    g->slot = engine_slot(engine, device);
    g->telling = (struct telling){.progress = progress, .data = data, .what = "The grade"};
    g->candidate = g->baseline = no_replay;
    g->recorders[0] = g->recorders[1] = no_recorder;
    g->judge = no_judge;
    g->started_ns = io_now();
    make_id(g->id);
    jails_ask_while_waiting(telling_again, &g->telling);
    return g;
}

/* --- from begin to end --- */

static int conclude(struct grade *g, int failed, kgrade_result **ret, kgrade_error *err)
{
    /* A cancelled grade has no result. */
    if (g->telling.cancelled)
        return fail(err, "cancelled", NULL, "The grade was cancelled.");
    return grade_answer(g, failed != 0, ret, err);
}

/* A replayer that was opened before the build shares the device with whatever has happened on it since. */
static void close_stale_candidate(struct grade *g)
{
    if (g->candidate.worker.jail && g->device->fault_is_sticky &&
        g->faults != health_faults(g->slot))
        replay_close(&g->candidate);
}

/* From the first use of the device to the last: one grade at a time.  `record_it`: there is a built candidate. */
static int hold_device(struct grade *g, bool record_it, kgrade_result **ret, kgrade_error *err)
{
    if ((record_it && grade_proceed(g, "building", 1, 1)) || grade_take_device(g))
        return conclude(g, -1, ret, err);
    g->held_ns = io_now();
    bool admitted = health_admit(g->engine, g->slot, &g->finding) == 0;
    close_stale_candidate(g);
    int failed =
        !admitted || grade_open_workers(g) || (record_it && grade_record(g)) || grade_replay(g);
    int result = conclude(g, failed, ret, err);
    bool ahead = g->engine->options.keep_spares && g->device->start_ahead;
    graves_wait(&g->graves);
    grade_close_workers(g, &g->slot->graves);
    /* A server answers at once; whoever is next on the device waits. */
    if (!ahead || failed)
        graves_wait(&g->slot->graves);
    if (admitted && failed)
        health_after(g->engine, g->slot, &g->finding, g->telling.cancelled);
    slot_give(g->slot);
    return result;
}

int grade_source(kgrade *engine, const struct task *task, const struct device *device,
                 const struct device_language *language, const kgrade_request *request,
                 kgrade_progress progress, void *data, kgrade_result **ret, kgrade_error *err)
{
    cleanup_grade struct grade *g = grade_new(engine, task, device, progress, data);
    if (!g)
        return fail(err, "out_of_memory", NULL, "No memory for a grade.");
    g->language = language;
    g->python = language->interpreted ? python_find(&engine->pythons, request->language) : NULL;
    g->source = request->source;
    g->source_size = request->source_size;
    if (request->id)
        memcpy(g->id, request->id, KGRADE_ID_DIGITS);
    grade_choose_cases(g);
    spares_begin(engine, g->slot, task, g->python,
                 rehearsal_is_due(g)); /* they get ready while the compiler works */
    /* What does not compile need not wait for the device. */
    int result = grade_build(g) ? conclude(g, -1, ret, err) : hold_device(g, true, ret, err);
    spares_over(engine, g->slot);
    return result;
}

int grade_recording(kgrade *engine, const struct task *task, const struct device *device,
                    struct recording *recording, kgrade_progress progress, void *data,
                    kgrade_result **ret, kgrade_error *err)
{
    cleanup_recording struct recording *owned = recording;
    cleanup_grade struct grade *g = grade_new(engine, task, device, progress, data);
    if (!g)
        return fail(err, "out_of_memory", NULL, "No memory for a grade.");
    g->recording = steal_pointer(&owned);
    if (recording_write(g->recording, &g->public_recording, err))
        return -1;
    grade_choose_cases(g);
    spares_begin(engine, g->slot, task, NULL, false);
    int result = hold_device(g, false, ret, err);
    spares_over(engine, g->slot);
    return result;
}
