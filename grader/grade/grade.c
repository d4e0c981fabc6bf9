/*
 * One grade: build, record, replay, judge, in that order, each in processes of its own.  This file only decides what
 * comes next and what an outcome means; how a step is done is in the step's folder.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "baseline.h"
#include "grade.h"
#include "health.h"
#include "result.h"
#include "slot.h"

#define MAX_CASES (2 * TASK_MAX_CASES)
#define WARM_CALLS 20u

enum step {
    STEP_TIME_BUILD,
    STEP_TIME_RECORD,
    STEP_TIME_BASELINE,
    STEP_TIME_REPLAY,
    STEP_TIME_JUDGE,
    STEP_TIMES
};
static const char *const step_names[STEP_TIMES] = {"build_ms", "record_ms", "baseline_ms",
                                                   "replay_ms", "judge_ms"};

struct grade {
    kgrade *engine;
    const struct task *task;
    const struct device *device;
    struct device_slot *slot;
    const struct device_language *language; /* NULL when a recording is graded */
    const char *source;
    size_t source_size;
    char id[KGRADE_ID_DIGITS + 1];
    kgrade_progress progress;
    void *progress_data;
    bool cancelled;
    struct {
        const char *step;
        unsigned done, total;
    } told;

    struct task_case cases[MAX_CASES]; /* public ones first, then hidden ones */
    size_t n_public, n_cases;
    struct case_result results[MAX_CASES];

    char target[32];
    struct bytes library;
    struct recording *recording;
    struct bytes public_recording; /* without the hidden cases: may leave the house */
    struct replay candidate, baseline;
    size_t recording_from; /* the first case of the part that is being recorded */
    unsigned faults;       /* of the device when the candidate's replayer was opened */
    struct judge_client judge;
    bool build_cached;
    uint64_t started_ns, held_ns, step_ns[STEP_TIMES];
    struct finding finding;
};

static bool tell(struct grade *g, const char *step, size_t done, size_t total)
{
    g->told.step = step;
    g->told.done = (unsigned)done;
    g->told.total = (unsigned)total;
    if (g->progress && !g->progress(g->progress_data, step, (unsigned)done, (unsigned)total))
        g->cancelled = true;
    return !g->cancelled;
}

/* While something is waited for, what was told last is told again, so that the caller can cancel. */
static bool tell_again(void *data)
{
    struct grade *g = data;
    return !g->told.step || tell(g, g->told.step, g->told.done, g->told.total);
}

static int stop_if_cancelled(struct grade *g, const char *step, size_t done, size_t total)
{
    if (tell(g, step, done, total))
        return 0;
    return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL,
                       "The grade was cancelled.");
}

/* --- cases --- */

static bool known_dims(const struct grade *g, const int64_t *dims)
{
    for (size_t i = 0; i < g->n_cases; i++)
        if (!memcmp(g->cases[i].dims, dims, g->task->n_dims * sizeof *dims))
            return true;
    return false;
}

static void add_case(struct grade *g, const struct task_case *c)
{
    if (g->n_cases < MAX_CASES) {
        g->cases[g->n_cases] = *c;
        g->results[g->n_cases] =
            (struct case_result){.task_case = &g->cases[g->n_cases], .roofline = {.fraction = -1}};
        g->n_cases++;
    }
}

static void choose_cases(struct grade *g)
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
        if (!known_dims(g, hidden[i].dims))
            add_case(g, &hidden[i]);
}

/* --- build and record --- */

static int open_candidate(struct grade *g)
{
    if (g->candidate.worker.jail)
        return 0;
    g->faults = health_faults(g->slot);
    return replay_open(g->engine, g->device, g->task, g->cases, g->n_cases, &g->candidate,
                       &g->finding);
}

static int take_device(struct grade *g)
{
    if (slot_take(g->slot) == 0)
        return 0;
    return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL,
                       "The grade was cancelled.");
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
    if (take_device(g))
        return -1;
    int result = health_admit(g->engine, g->slot, &g->finding);
    if (!result && !know_target(g)) {
        result = open_candidate(g);
        if (!result)
            set_target(g);
        else
            health_after(g->engine, g->slot, &g->finding, g->cancelled);
    }
    slot_give(g->slot);
    return result;
}

static int build(struct grade *g)
{
    if (stop_if_cancelled(g, "building", 0, 1) || learn_target(g))
        return -1;
    uint64_t start = io_now();
    int result = build_candidate(g->engine, g->device, g->language, g->target, g->source,
                                 g->source_size, &g->library, &g->build_cached, &g->finding);
    g->step_ns[STEP_TIME_BUILD] = io_now() - start;
    return result;
}

static bool record_told(void *data, size_t done)
{
    struct grade *g = data;
    return tell(g, "recording", g->recording_from + done, g->n_cases);
}

static int record_part(struct grade *g, size_t first, size_t n, bool secret)
{
    struct host_overhead overheads[MAX_CASES];
    memset(overheads, 0, sizeof overheads);
    const struct record_request request = {.device = g->device,
                                           .task = g->task,
                                           .cases = g->cases + first,
                                           .n_cases = n,
                                           .warm_calls = secret ? 1 : WARM_CALLS,
                                           .secret = secret,
                                           .arena_fd =
                                               g->device->shares_arena ? g->candidate.arena_fd : -1,
                                           .library = &g->library};
    if (n == 0)
        return 0;
    g->recording_from = first;
    if (record_cases(g->engine, &request, g->recording, overheads, record_told, g, &g->finding))
        return -1;
    for (size_t i = 0; i < n; i++) {
        g->results[first + i].recorded = true;
        g->results[first + i].overhead = overheads[i];
    }
    return 0;
}

/* A recording is as large as what the candidate keeps in its own memory. */
static int blame_recording(struct grade *g, const kgrade_error *err)
{
    if (strcmp(err->code, "recording_too_large"))
        return finding_infrastructure(&g->finding, err);
    return finding_set(&g->finding, KGRADE_REFUSED, err->code, err->hint, "%s", err->message);
}

static int record(struct grade *g)
{
    kgrade_error err = {.code = ""};
    uint64_t start = io_now();
    g->recording = recording_new(g->device->name, g->task);
    if (!g->recording)
        return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory.");
    int result = record_part(g, 0, g->n_public, false);
    if (!result && recording_write(g->recording, &g->public_recording, &err))
        result = blame_recording(g, &err);
    /* Hidden dims go to a process of their own, from which nothing comes back to the author. */
    if (!result)
        result = record_part(g, g->n_public, g->n_cases - g->n_public, true);
    g->step_ns[STEP_TIME_RECORD] = io_now() - start;
    return result;
}

/* --- replay and judge --- */

static int open_judge(struct grade *g)
{
    return judge_open(g->engine, g->device, replay_target(&g->candidate), g->task,
                      g->candidate.arena_fd, &g->judge, &g->finding);
}

static int decide(struct grade *g, struct case_result *r, const json_int_t *snapshots, size_t n)
{
    uint64_t start = io_now();
    int result = 0;
    for (size_t i = 0; i < n && !result; i++) {
        struct judgement judgement = {0};
        result = judge_decide(&g->judge, snapshots[i], &judgement, &g->finding);
        if (!result)
            case_result_judge(r, &judgement);
    }
    g->step_ns[STEP_TIME_JUDGE] += io_now() - start;
    return result;
}

static int one_judged_replay(struct grade *g, struct case_result *r)
{
    const int64_t *dims = r->task_case->dims;
    uint64_t seeds[2], start = io_now();
    struct replay_time time;
    json_int_t id;
    io_random(seeds, sizeof seeds);
    int result = replay_prepare(&g->candidate, seeds[0], seeds[1], false, &g->finding) ||
                 replay_run(&g->candidate, false, &time, &g->finding) ||
                 judge_snapshot(&g->judge, g->task, dims, seeds[0], seeds[1], &id, &g->finding);
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    return result ? -1 : decide(g, r, &id, 1);
}

static int describe_failure(struct grade *g, const struct case_result *r)
{
    static const struct {
        const char *code, *message, *hint;
    } texts[] = {
        {"input_modified", "The call changes an input that it may only read.",
         "Write only to the parameters of kind `out` and `inout`; keep scratch data in a buffer of "
         "your own."},
        {"out_of_bounds_write", "The call writes behind the end of a buffer.",
         "Guard the last, partial block: check the index against the size before every store."},
        {"nan_in_output", "The output holds NaN where the reference does not.",
         "Look for 0/0, inf - inf, and reads of memory that was never written."},
        {"output_not_written", "Parts of the output were never written.",
         "Every call must write every element; check the launch size for shapes that are no "
         "multiple of your tile."},
        {"wrong_values", "The output is wrong.",
         "Compare with the reference on the case shown; every replay has new inputs, so nothing "
         "may be kept from an "
         "earlier call."},
    };
    cleanup_free char *dims = NULL;
    json_t *json = task_dims_json(g->task, r->task_case->dims);
    dims = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!strcmp(texts[i].code, r->code))
            return finding_set(
                &g->finding,
                !strcmp(r->code, "input_modified") ? KGRADE_REFUSED : KGRADE_WRONG_ANSWER, r->code,
                texts[i].hint, "%s Case: %s.", texts[i].message, dims ? dims : "");
    return finding_set(&g->finding, KGRADE_WRONG_ANSWER, r->code, NULL, "The answer is wrong.");
}

static int check_case(struct grade *g, struct case_result *r)
{
    if (replay_load(&g->candidate, g->task, r->task_case->dims, &g->finding) ||
        one_judged_replay(g, r))
        return -1;
    return r->pass ? 0 : describe_failure(g, r);
}

/* Benchmark cases too: a wrong kernel is not worth timing. */
static int check_correctness(struct grade *g)
{
    for (size_t i = 0; i < g->n_cases; i++) {
        struct case_result *r = &g->results[i];
        if (stop_if_cancelled(g, "replaying", i, g->n_cases))
            return -1;
        if (check_case(g, r))
            return r->task_case->kind == CASE_HIDDEN ? finding_hide(&g->finding) : -1;
    }
    return 0;
}

/* A measured ceiling may be low, when the machine was busy, but never high: the highest is kept. */
static int measure_ceilings(struct grade *g, struct replay *replay)
{
    json_t *now = replay_ask(replay, "ceilings", &g->finding), *value;
    const char *key;
    if (!now)
        return -1;
    if (!g->slot->ceilings)
        g->slot->ceilings = json_object();
    json_object_foreach(now, key, value)
    {
        double known = json_number_value(json_object_get(g->slot->ceilings, key));
        if (json_is_number(value) && json_number_value(value) > known)
            json_object_set(g->slot->ceilings, key, value);
    }
    json_decref(now);
    return 0;
}

static bool apply_rooflines(struct grade *g)
{
    bool impossible = false;
    for (size_t i = 0; i < g->n_public; i++) {
        struct case_result *r = &g->results[i];
        if (!r->sampled)
            continue;
        double time = r->sampling.candidate.time.median;
        r->roofline =
            roofline_of(g->task, r->task_case->dims, g->candidate.info, g->slot->ceilings, time);
        impossible = impossible || time < r->roofline.least_ns;
    }
    return impossible;
}

/* Nobody is accused of being faster than the device on old evidence. */
static int check_rooflines(struct grade *g)
{
    if (!apply_rooflines(g))
        return 0;
    if (measure_ceilings(g, &g->baseline))
        return -1;
    apply_rooflines(g);
    for (size_t i = 0; i < g->n_public; i++) {
        struct case_result *r = &g->results[i];
        double time = r->sampling.candidate.time.median;
        if (r->sampled && r->sampling.verdict == KGRADE_ACCEPTED && time < r->roofline.least_ns)
            sampling_doubt(&r->sampling, KGRADE_SUSPECT, "faster_than_roofline",
                           "A replay took %.0f ns, but this device needs at least %.0f ns for the "
                           "task's work.",
                           time, r->roofline.least_ns);
    }
    return 0;
}

static int sample_case(struct grade *g, struct case_result *r)
{
    const int64_t *dims = r->task_case->dims;
    uint64_t start = io_now();
    const struct sampling_request request = {
        .options = &g->engine->options,
        .task = g->task,
        .dims = dims,
        .candidate = &g->candidate,
        .baseline = &g->baseline,
        .judge = &g->judge,
        .cold = roofline_is_cold(g->candidate.info),
        .bendable = g->device->runs_in_replayer,
        .resolution_ns = json_number_value(json_object_get(g->candidate.info, "resolution_ns"))};
    int result = replay_load(&g->candidate, g->task, dims, &g->finding) ||
                 replay_load(&g->baseline, g->task, dims, &g->finding) ||
                 sampling_run(&request, &r->sampling, &g->finding);
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    if (result || decide(g, r, r->sampling.snapshots, r->sampling.n_snapshots))
        return -1;
    r->sampled = true;
    return r->pass ? 0 : describe_failure(g, r);
}

static int measure(struct grade *g)
{
    for (size_t i = 0; i < g->n_public; i++) {
        if (g->cases[i].kind != CASE_BENCHMARK)
            continue;
        if (stop_if_cancelled(g, "judging", i, g->n_public) || sample_case(g, &g->results[i]))
            return -1;
    }
    if (check_rooflines(g))
        return -1;
    /* All figures are taken before one of them is doubted, so that the result shows them. */
    for (size_t i = 0; i < g->n_public; i++) {
        const struct sampling *s = &g->results[i].sampling;
        if (!g->results[i].sampled || s->verdict == KGRADE_ACCEPTED)
            continue;
        bool noisy = !strcmp(s->code, "too_noisy");
        finding_set(&g->finding, s->verdict, s->code,
                    noisy ? "Grade again when the machine is less busy; the figures are in the "
                            "result."
                    : s->verdict == KGRADE_UNRESOLVED
                        ? "Time this kernel on a task with larger cases."
                        : "The figures are in the result; an operator should look at the "
                          "recording.",
                    "%s", s->message);
        g->finding.retryable = noisy;
        return -1;
    }
    return 0;
}

static size_t benchmark_cases(const struct grade *g, struct task_case *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_public; i++)
        if (g->cases[i].kind == CASE_BENCHMARK)
            ret[n++] = g->cases[i];
    return n;
}

/* Candidate and baseline are measured in replayers with the same past: new ones, with the same arena, that have loaded the same
 * cases in the same order.  A replayer that has run other shapes before is not the same machine (a runtime that keeps
 * specialised code, or memory that lies elsewhere, made one of two equal kernels 20 % slower). */
static int open_pair(struct grade *g)
{
    struct task_case benchmarks[MAX_CASES];
    size_t n = benchmark_cases(g, benchmarks);
    const struct bytes *recording;
    judge_close(&g->judge);
    replay_close(&g->candidate);
    if (replay_open(g->engine, g->device, g->task, benchmarks, n, &g->candidate, &g->finding) ||
        baseline_get(g->engine, g->device, g->task, benchmarks, n, g->candidate.info, &recording,
                     &g->finding) ||
        replay_open(g->engine, g->device, g->task, benchmarks, n, &g->baseline, &g->finding) ||
        replay_give(&g->candidate, &g->public_recording, &g->finding) ||
        replay_give(&g->baseline, recording, &g->finding))
        return -1;
    return open_judge(g);
}

static int replay_all(struct grade *g)
{
    kgrade_error err = {.code = ""};
    cleanup_bytes struct bytes file = {0};
    uint64_t start = io_now();
    if (recording_write(g->recording, &file, &err))
        return blame_recording(g, &err);
    if ((!g->slot->ceilings && measure_ceilings(g, &g->candidate)) || open_judge(g) ||
        replay_give(&g->candidate, &file, &g->finding))
        return -1;
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    if (check_correctness(g))
        return -1;
    start = io_now();
    if (open_pair(g))
        return -1;
    g->step_ns[STEP_TIME_BASELINE] = io_now() - start;
    return measure(g);
}

/* --- the result --- */

/* Geometric mean of the speedups of all benchmark cases. */
static double score_of(const struct grade *g)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->n_public; i++)
        if (g->results[i].sampled) {
            sum += log(g->results[i].sampling.speedup);
            n++;
        }
    return n ? exp(sum / (double)n) : 0;
}

static json_t *steps_json(const struct grade *g)
{
    json_t *json = json_object();
    for (size_t i = 0; i < STEP_TIMES; i++)
        json_object_set_new(json, step_names[i],
                            json_real((double)g->step_ns[i] / (double)IO_NS_PER_MS));
    if (g->held_ns)
        json_object_set_new(json, "device_held_ms",
                            json_real((double)(io_now() - g->held_ns) / (double)IO_NS_PER_MS));
    json_object_set_new(json, "total_ms",
                        json_real((double)(io_now() - g->started_ns) / (double)IO_NS_PER_MS));
    return json;
}

static json_t *reason_json(const struct finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:b}", "code", f->reason.code, "message",
                     f->reason.message, "hint", f->reason.hint, "log", f->log, "retryable",
                     f->retryable);
}

static json_t *candidate_json(const struct grade *g)
{
    char hash[HASH_HEX];
    if (!g->language) {
        hash_hex(g->public_recording.data, g->public_recording.size, hash);
        return json_pack("{s:s, s:s, s:I}", "hash", hash, "language", "recording", "bytes",
                         (json_int_t)g->public_recording.size);
    }
    hash_hex(g->source, g->source_size, hash);
    return json_pack("{s:s, s:s, s:I, s:b}", "hash", hash, "language", g->language->name, "bytes",
                     (json_int_t)g->source_size, "build_cached", g->build_cached);
}

static json_t *result_json(const struct grade *g, kgrade_verdict verdict, double score)
{
    char now[32];
    time_t t = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    json_t *cases = json_array();
    for (size_t i = 0; i < g->n_cases; i++)
        json_array_append_new(cases, case_result_json(&g->results[i], g->task, g->candidate.info));
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:s}",
                     "schema", KGRADE_SCHEMA, "id", g->id, "graded_at", now, "task", "name",
                     g->task->name, "hash", g->task->hash, "candidate", candidate_json(g), "device",
                     g->device->name, "verdict", kgrade_verdict_name(verdict), "reason",
                     verdict == KGRADE_ACCEPTED ? json_null() : reason_json(&g->finding), "score",
                     score, "cases", cases, "environment",
                     result_environment(g->candidate.info, sandbox_level_of(g->engine->sandbox)),
                     "steps", steps_json(g), "scored", "device_time");
}

static int finish(struct grade *g, bool failed, kgrade_result **ret, kgrade_error *err)
{
    kgrade_result *result = calloc(1, sizeof *result);
    if (!result)
        return fail(err, "out_of_memory", NULL, "No memory for a result.");
    result->verdict = failed ? g->finding.verdict : KGRADE_ACCEPTED;
    result->score = failed ? 0 : score_of(g);
    json_t *json = result_json(g, result->verdict, result->score);
    result->json = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    if (!result->json) {
        free(result);
        return fail(err, "out_of_memory", NULL, "The result could not be written as JSON.");
    }
    result->recording = g->public_recording;
    g->public_recording = (struct bytes){0};
    tell(g, "done", 1, 1);
    jails_ask_while_waiting(NULL, NULL); /* what follows only tidies up */
    *ret = result;
    return 0;
}

static void grade_free(struct grade *g)
{
    jails_ask_while_waiting(NULL, NULL);
    judge_close(&g->judge);
    replay_close(&g->candidate);
    replay_close(&g->baseline);
    recording_free(g->recording);
    bytes_free(&g->library);
    bytes_free(&g->public_recording);
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
    struct grade *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->engine = engine;
    g->task = task;
    g->device = device;
    g->slot = engine_slot(engine, device);
    g->progress = progress;
    g->progress_data = data;
    g->candidate = g->baseline = no_replay;
    g->judge = no_judge;
    g->started_ns = io_now();
    make_id(g->id);
    jails_ask_while_waiting(tell_again, g);
    return g;
}

/* --- from begin to end --- */

static int conclude(struct grade *g, int failed, kgrade_result **ret, kgrade_error *err)
{
    /* A cancelled grade has no result. */
    if (g->cancelled)
        return fail(err, "cancelled", NULL, "The grade was cancelled.");
    return finish(g, failed != 0, ret, err);
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
    if ((record_it && stop_if_cancelled(g, "building", 1, 1)) || take_device(g))
        return conclude(g, -1, ret, err);
    g->held_ns = io_now();
    bool admitted = health_admit(g->engine, g->slot, &g->finding) == 0;
    close_stale_candidate(g);
    int failed = !admitted || open_candidate(g) || (record_it && record(g)) || replay_all(g);
    int result = conclude(g, failed, ret, err);
    /* The next grade begins when nothing of this candidate is left on the device. */
    judge_close(&g->judge);
    replay_close(&g->candidate);
    replay_close(&g->baseline);
    if (admitted && failed)
        health_after(g->engine, g->slot, &g->finding, g->cancelled);
    slot_give(g->slot);
    if (g->engine->options.keep_spares && g->device->start_ahead)
        spares_fill(g->engine, g->slot);
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
    g->source = request->source;
    g->source_size = request->source_size;
    if (request->id)
        memcpy(g->id, request->id, KGRADE_ID_DIGITS);
    choose_cases(g);
    if (device->start_ahead)
        spares_fill(engine, g->slot); /* they get ready while the compiler works */
    /* What does not compile need not wait for the device. */
    return build(g) ? conclude(g, -1, ret, err) : hold_device(g, true, ret, err);
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
    choose_cases(g);
    if (device->start_ahead)
        spares_fill(engine, g->slot);
    return hold_device(g, false, ret, err);
}
