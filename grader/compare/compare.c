#define _GNU_SOURCE
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "../grade/baseline.h"
#include "../grade/health.h"
#include "../grade/jails.h"
#include "../grade/slot.h"
#include "../grade/spec.h"
#include "../grade/telling.h"
#include "../judge/judge.h"
#include "../measure/floor.h"
#include "../measure/roofline.h"
#include "../measure/sampling.h"
#include "../record/record.h"
#include "../wire.h"
#include "paths.h"

enum side { A, B, SIDES };

struct side_state {
    struct bytes library, recording, code;
    struct replay replay;
};

/* What the pairs of replayers gave for a case. */
struct kernel_case {
    struct compare_ratio ratios[COMPARE_PAIRS];
    double ns[SIDES][COMPARE_PAIRS]; /* medians */
    bool doubted;
    char doubt[256];
};

struct compare {
    kgrade *engine;
    const struct compare_request *request;
    struct telling telling;
    struct task_case cases[TASK_MAX_CASES]; /* the benchmark cases of the device */
    size_t n_cases;
    struct side_state sides[SIDES];
    struct judge_client judge;
    double floor_difference_ns; /* of the pair that is open; see measure/floor.h */
    json_t *case_list;          /* owned */
    struct kernel_case kernels[TASK_MAX_CASES];
    unsigned n_pairs; /* of replayers */
    struct compare_ratio device;
    struct paths paths;
    bool in_doubt, compared;
    struct finding finding;
};

static int stop_if_cancelled(struct compare *c, const char *step, size_t done, size_t total)
{
    return telling_proceed(&c->telling, step, done, total, &c->finding);
}

/* --- each side by itself: built, recorded, found right --- */

static const struct python *python_of(const struct compare *c, unsigned side)
{
    return python_find(&c->engine->pythons, c->request->sides[side]->language);
}

/* Both sides may share an arena, so it fits either. */
static uint64_t workspace_of(const struct compare *c)
{
    return spec_workspace(c->request->device, c->request->task, python_of(c, A) || python_of(c, B));
}

static int record(struct compare *c, enum side side)
{
    const struct compare_request *r = c->request;
    struct side_state *s = &c->sides[side];
    kgrade_error err = {.code = ""};
    cleanup_recording struct recording *recording = recording_new(r->device->name, r->task);
    cleanup_free struct host_overhead *overheads = calloc(c->n_cases + 1, sizeof *overheads);
    if (!recording || !overheads)
        return finding_set(&c->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for a recording.");
    const struct record_request request = {.device = r->device,
                                           .task = r->task,
                                           .cases = c->cases,
                                           .n_cases = c->n_cases,
                                           .warm_calls = 1,
                                           .library = &s->library,
                                           .python = python_of(c, side)};
    if (record_cases(c->engine, &request, recording, overheads, NULL, NULL, &c->finding))
        return -1;
    return recording_write(recording, &s->recording, &err)
               ? finding_infrastructure(&c->finding, &err)
               : 0;
}

static int prepare(struct compare *c, enum side side)
{
    const struct compare_request *r = c->request;
    struct side_state *s = &c->sides[side];
    cleanup_replay struct replay replay = REPLAY_NONE;
    bool cached;
    replay.workspace_bytes = workspace_of(c);
    if (stop_if_cancelled(c, "building", side, SIDES) ||
        replay_open(c->engine, r->device, r->task, c->cases, c->n_cases, &replay, &c->finding) ||
        build_candidate(c->engine, r->device, r->languages[side], replay_target(&replay),
                        r->sides[side]->source, r->sides[side]->source_size, &s->library, &cached,
                        &c->finding) ||
        stop_if_cancelled(c, "recording", side, SIDES) || record(c, side) ||
        stop_if_cancelled(c, "replaying", side, SIDES) ||
        replay_give(&replay, &s->recording, &c->finding) ||
        baseline_verify(c->engine, r->device, r->task, c->cases, c->n_cases, 0, &replay,
                        &c->finding) ||
        replay_pack(&replay, &s->code, &c->finding))
        return -1;
    return 0;
}

/* --- the kernels --- */

static int open_pair(struct compare *c)
{
    const struct compare_request *r = c->request;
    struct replay *a = &c->sides[A].replay, *b = &c->sides[B].replay;
    a->workspace_bytes = b->workspace_bytes = workspace_of(c);
    if (replay_open(c->engine, r->device, r->task, c->cases, c->n_cases, b, &c->finding))
        return -1;
    if (r->device->shares_arena
            ? replay_open_beside(c->engine, r->task, b, a, &c->finding)
            : replay_open(c->engine, r->device, r->task, c->cases, c->n_cases, a, &c->finding))
        return -1;
    if (r->device->shares_arena &&
        floor_difference(b, a, replay_resolution_ns(b), &c->floor_difference_ns, &c->finding))
        return -1;
    if (!r->device->shares_arena && (replay_confine(a, &c->sides[A].code, &c->finding) ||
                                     replay_confine(b, &c->sides[B].code, &c->finding)))
        return -1;
    return replay_give(a, &c->sides[A].recording, &c->finding) ||
                   replay_give(b, &c->sides[B].recording, &c->finding) ||
                   judge_open(c->engine, r->device, replay_target(b), r->task, b->arena_fd,
                              &c->judge, &c->finding) ||
                   judge_feed(&c->judge, r->task, c->cases, c->n_cases, a, &c->finding) ||
                   judge_feed(&c->judge, r->task, c->cases, c->n_cases, b, &c->finding)
               ? -1
               : 0;
}

/* What was judged while it was timed must be right. */
static int check_samples(struct compare *c, const struct sampling *s)
{
    for (size_t i = 0; i < s->n_snapshots; i++) {
        struct judgement judgement = {0};
        if (judge_decide(&c->judge, s->snapshots[i], &judgement, &c->finding))
            return -1;
        json_decref(judgement.correctness);
        if (!judgement.pass)
            return finding_set(&c->finding, KGRADE_WRONG_ANSWER, judgement.code,
                               "`kgrade grade` tells more.", "An answer of B is wrong.");
    }
    return 0;
}

static json_t *ratio_json(const struct compare_ratio *r)
{
    return json_pack("{s:o, s:o, s:o}", "value", wire_number_json(r->value), "low",
                     wire_number_json(r->low), "high", wire_number_json(r->high));
}

/* A stands where a grade has the baseline, for which a task would be blamed. */
static int blame_a(struct compare *c, const struct finding *inner)
{
    if (inner->verdict == KGRADE_INFRASTRUCTURE_ERROR &&
        strcmp(inner->reason.code, "baseline_failed")) {
        c->finding = *inner;
        return -1;
    }
    return finding_set(&c->finding, KGRADE_RUNTIME_ERROR, "replay_failed",
                       "`kgrade grade` tells more.", "A failed while it was timed: %s",
                       inner->reason.message);
}

static int load_a(struct compare *c, size_t i)
{
    struct finding inner = {.log = NULL};
    return replay_load(&c->sides[A].replay, c->request->task, &c->cases[i], &inner)
               ? blame_a(c, &inner)
               : 0;
}

static int run_samples(struct compare *c, const struct sampling_request *request,
                       struct sampling *ret)
{
    int result = sampling_run(request, ret, &c->finding);
    if (!result || strcmp(c->finding.reason.code, "baseline_failed"))
        return result;
    const struct finding inner = c->finding;
    return blame_a(c, &inner);
}

/* A part of the time for each pair. */
static kgrade_options options_of(const struct compare *c)
{
    kgrade_options options = c->engine->options;
    double seconds = options.max_seconds > 0 ? options.max_seconds : SAMPLING_DEFAULT_SECONDS;
    options.max_seconds = seconds / c->n_pairs;
    return options;
}

static int sample(struct compare *c, size_t i, unsigned pair)
{
    const struct compare_request *r = c->request;
    struct kernel_case *k = &c->kernels[i];
    const kgrade_options options = options_of(c);
    struct replay *a = &c->sides[A].replay, *b = &c->sides[B].replay;
    cleanup_free struct sampling *s = calloc(1, sizeof *s);
    if (!s)
        return finding_set(&c->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for samples.");
    const struct sampling_request request = {.options = &options,
                                             .task = r->task,
                                             .task_case = &c->cases[i],
                                             .candidate = b,
                                             .baseline = a,
                                             .judge = &c->judge,
                                             .cold = roofline_is_cold(b->info),
                                             .bendable = r->device->runs_in_replayer,
                                             .resolution_ns = replay_resolution_ns(b),
                                             .floor_difference_ns = c->floor_difference_ns};
    if (stop_if_cancelled(c, "judging", pair * c->n_cases + i, c->n_pairs * c->n_cases) ||
        replay_load(b, r->task, &c->cases[i], &c->finding) || load_a(c, i) ||
        run_samples(c, &request, s) || check_samples(c, s))
        return -1;
    k->ratios[pair] = (struct compare_ratio){s->speedup, s->low, s->high};
    k->ns[A][pair] = s->baseline.time.median;
    k->ns[B][pair] = s->candidate.time.median;
    if (s->verdict != KGRADE_ACCEPTED && !k->doubted)
        snprintf(k->doubt, sizeof k->doubt, "%s", s->message);
    k->doubted = k->doubted || s->verdict != KGRADE_ACCEPTED;
    c->in_doubt = c->in_doubt || k->doubted || !(s->low > 0) || !isfinite(s->high);
    return 0;
}

static void close_pair(struct compare *c)
{
    judge_close(&c->judge);
    for (size_t i = 0; i < SIDES; i++)
        replay_close(&c->sides[i].replay);
}

static int sample_pair(struct compare *c, unsigned pair)
{
    if (open_pair(c))
        return -1;
    for (size_t i = 0; i < c->n_cases; i++)
        if (sample(c, i, pair))
            return -1;
    close_pair(c);
    return 0;
}

static double middle(double *values, size_t n)
{
    statistics_sort(values, n);
    return statistics_quantile(values, n, 0.5);
}

static void conclude_kernels(struct compare *c)
{
    struct compare_ratio ratios[TASK_MAX_CASES];
    for (size_t i = 0; i < c->n_cases; i++) {
        struct kernel_case *k = &c->kernels[i];
        ratios[i] = compare_processes(k->ratios, c->n_pairs);
        json_array_append_new(
            c->case_list,
            json_pack("{s:o, s:o, s:f, s:f, s:s?}", "dims",
                      task_dims_json(c->request->task, c->cases[i].dims), "ratio",
                      ratio_json(&ratios[i]), "a_ns", middle(k->ns[A], c->n_pairs), "b_ns",
                      middle(k->ns[B], c->n_pairs), "doubt", k->doubted ? k->doubt : NULL));
    }
    c->device = compare_mean(ratios, c->n_cases);
}

static int compare_kernels(struct compare *c)
{
    c->n_pairs = c->request->device->shares_arena ? 1 : COMPARE_PAIRS;
    for (unsigned pair = 0; pair < c->n_pairs; pair++)
        if (sample_pair(c, pair))
            return -1;
    conclude_kernels(c);
    return 0;
}

/* --- the launch paths --- */

static int compare_paths(struct compare *c)
{
    struct record_request requests[SIDES];
    for (unsigned side = 0; side < SIDES; side++)
        requests[side] = (struct record_request){.device = c->request->device,
                                                 .task = c->request->task,
                                                 .cases = c->cases,
                                                 .n_cases = 1,
                                                 .profile = RECORD_PROFILE,
                                                 .library = &c->sides[side].library,
                                                 .python = python_of(c, side)};
    return paths_compare(c->engine, requests, &c->telling, &c->paths, &c->finding);
}

/* --- from begin to end --- */

static int run(struct compare *c)
{
    for (unsigned side = 0; side < SIDES; side++)
        if (prepare(c, (enum side)side))
            return -1;
    if (compare_kernels(c) || compare_paths(c))
        return -1;
    c->compared = true;
    return 0;
}

static int hold_device(struct compare *c)
{
    struct device_slot *slot = engine_slot(c->engine, c->request->device);
    if (health_refuse(slot, &c->finding))
        return -1;
    if (stop_if_cancelled(c, "building", 0, SIDES) || slot_take(slot))
        return telling_cancelled(&c->telling, &c->finding);
    bool admitted = health_admit(c->engine, slot, &c->finding) == 0;
    int failed = admitted ? run(c) : -1;
    jails_ask_while_waiting(NULL, NULL);
    close_pair(c);
    if (admitted && failed)
        health_after(c->engine, slot, &c->finding, c->telling.cancelled);
    slot_give(slot);
    return failed;
}

static json_t *side_json(const struct compare *c, enum side side)
{
    char hash[HASH_HEX];
    hash_hex(c->request->sides[side]->source, c->request->sides[side]->source_size, hash);
    return json_pack("{s:s, s:s}", "hash", hash, "language", c->request->languages[side]->name);
}

static json_t *reason_json(const struct finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s?}", "verdict", kgrade_verdict_name(f->verdict),
                     "code", f->reason.code, "message", f->reason.message, "hint", f->reason.hint,
                     "log", f->log);
}

static json_t *report(const struct compare *c)
{
    const struct compare_request *r = c->request;
    double margin = r->device->runs_in_replayer ? COMPARE_DEVICE_MARGIN_CPU : COMPARE_DEVICE_MARGIN;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "schema", KGRADE_COMPARE_SCHEMA, "task",
                  r->task->name, "device", r->device->name, "a", side_json(c, A), "b",
                  side_json(c, B), "reason", c->compared ? json_null() : reason_json(&c->finding));
    if (!c->compared) {
        json_object_set_new(json, "verdict", json_null());
        return json;
    }
    json_object_set_new(json, "verdict",
                        json_string(c->in_doubt
                                        ? "unresolved"
                                        : compare_verdict(&c->device, margin, &c->paths.ratio,
                                                          COMPARE_HOST_MARGIN)));
    json_object_set_new(json, "kernel",
                        json_pack("{s:o, s:f, s:O}", "ratio", ratio_json(&c->device), "margin",
                                  margin, "cases", c->case_list));
    const struct compare_ratio *path = &c->paths.ratio;
    json_object_set_new(
        json, "launch_path",
        json_pack("{s:o, s:f, s:f, s:f, s:o, s:s?}", "ratio", ratio_json(path), "margin",
                  COMPARE_HOST_MARGIN, "a_ns", c->paths.ns[A], "b_ns", c->paths.ns[B], "dims",
                  task_dims_json(r->task, c->cases[0].dims), "doubt",
                  compare_is_vague(path) ? "The machine is too busy to time launch paths." : NULL));
    return json;
}

static void compare_free(struct compare *c)
{
    json_decref(c->case_list);
    for (size_t i = 0; i < SIDES; i++) {
        bytes_free(&c->sides[i].library);
        bytes_free(&c->sides[i].recording);
        bytes_free(&c->sides[i].code);
    }
    finding_free(&c->finding);
}

int compare_sources(kgrade *engine, const struct compare_request *request, kgrade_progress progress,
                    void *data, char **ret_json, kgrade_error *err)
{
    static const struct replay no_replay = REPLAY_NONE;
    static const struct judge_client no_judge = JUDGE_NONE;
    __attribute__((cleanup(compare_free))) struct compare c = {
        .engine = engine,
        .request = request,
        .telling = {.progress = progress, .data = data, .what = "The comparison"},
        .judge = no_judge};
    c.sides[A].replay = c.sides[B].replay = no_replay;
    for (size_t i = 0; i < request->task->n_cases; i++) {
        const struct task_case *one = &request->task->cases[i];
        if (one->kind == CASE_BENCHMARK &&
            task_devices_include(one->devices, request->device->name))
            c.cases[c.n_cases++] = *one;
    }
    c.case_list = json_array();
    if (!c.n_cases)
        return fail(err, "task_not_for_device", NULL, "Task \"%s\" has no benchmark case for %s.",
                    request->task->name, request->device->name);
    jails_ask_while_waiting(telling_again, &c.telling);
    hold_device(&c);
    jails_ask_while_waiting(NULL, NULL);
    if (c.telling.cancelled)
        return fail(err, "cancelled", NULL, "The comparison was cancelled.");
    json_auto_t *json = report(&c);
    *ret_json = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The report could not be written as JSON.");
}
