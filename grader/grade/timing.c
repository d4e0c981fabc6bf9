/* From a recording to figures: what is right, then what it takes, candidate and baseline by turns. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../measure/batch.h"
#include "../measure/floor.h"
#include "../measure/rounds.h"
#include "baseline.h"
#include "state.h"

static int feed(struct grade *g)
{
    return judge_feed(&g->judge, g->task, g->cases, g->n_cases, &g->candidate, &g->finding) ||
                   judge_feed(&g->judge, g->task, g->cases, g->n_cases, &g->baseline, &g->finding)
               ? -1
               : 0;
}

static int open_judge(struct grade *g)
{
    return judge_open(g->engine, g->device, replay_target(&g->candidate), g->task,
                      g->candidate.arena_fd, &g->judge, &g->finding) ||
                   feed(g)
               ? -1
               : 0;
}

/* For a pair of replayers that has taken the place of another. */
static int renew_judge(struct grade *g)
{
    if (!g->device->runs_in_replayer) { /* it may hold a reference on the device */
        judge_close(&g->judge);
        return open_judge(g);
    }
    return judge_move(&g->judge, g->candidate.arena_fd, &g->finding) || feed(g) ? -1 : 0;
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
    uint64_t seeds[2], start = io_now();
    struct replay_time time;
    json_int_t id;
    io_random(seeds, sizeof seeds);
    int result =
        replay_prepare(&g->candidate, seeds[0], seeds[1], false, &g->finding) ||
        replay_run(&g->candidate, false, &time, &g->finding) ||
        judge_snapshot(&g->judge, g->task, r->task_case, seeds[0], seeds[1], &id, &g->finding);
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    return result ? -1 : decide(g, r, &id, 1);
}

int grade_fail_answer(struct grade *g, const struct case_result *r)
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
    if (replay_load(&g->candidate, g->task, r->task_case, &g->finding) || one_judged_replay(g, r))
        return -1;
    return r->pass ? 0 : grade_fail_answer(g, r);
}

/* Benchmark cases too: a wrong kernel is not worth timing.  The code for the measurement is that of public cases: the replayers
 * that take it are to know nothing of hidden ones. */
static int check_correctness(struct grade *g)
{
    for (size_t i = 0; i < g->n_cases; i++) {
        struct case_result *r = &g->results[i];
        if (grade_proceed(g, "replaying", i, g->n_cases) ||
            (i == g->n_public && replay_pack(&g->candidate, &g->code, &g->finding)))
            return -1;
        if (check_case(g, r))
            return r->task_case->kind == CASE_HIDDEN ? finding_hide(&g->finding) : -1;
    }
    return g->n_public < g->n_cases ? 0 : replay_pack(&g->candidate, &g->code, &g->finding);
}

/* A measured ceiling may be low, when the machine was busy, but never high: the highest is kept. */
static int measure_ceilings(struct grade *g, struct replay *replay)
{
    struct finding inner = {.log = NULL};
    json_t *now = replay_ask(replay, "ceilings", &inner), *value;
    const char *key;
    if (!now) /* no code but ours has run there, or the baseline's */
        return sampling_blame_baseline(&inner, &g->finding);
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

/* By a replayer that may still compile, where those that are timed may not. */
static int measure_ceilings_anew(struct grade *g)
{
    cleanup_replay struct replay fresh = REPLAY_NONE;
    struct task_case benchmarks[GRADE_MAX_CASES];
    size_t n = grade_benchmark_cases(g, benchmarks);
    if (!g->device->runs_in_replayer)
        return measure_ceilings(g, &g->baseline);
    return replay_open(g->engine, g->device, g->task, benchmarks, n, &fresh, &g->finding) ||
                   measure_ceilings(g, &fresh)
               ? -1
               : 0;
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
    if (measure_ceilings_anew(g))
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

static int load_baseline(struct grade *g, const struct task_case *c)
{
    struct finding inner = {.log = NULL};
    return replay_load(&g->baseline, g->task, c, &inner)
               ? sampling_blame_baseline(&inner, &g->finding)
               : 0;
}

struct deciding {
    struct grade *g;
    struct case_result *r;
};

static int decide_early(void *data, const json_int_t *snapshots, size_t n, struct finding *f)
{
    const struct deciding *d = data;
    (void)f; /* it is the grade's */
    return decide(d->g, d->r, snapshots, n);
}

/* `rounds` NULL: all samples are of this pair of replayers.  Devices whose kernels run in the replayer, which are sampled in
 * rounds, have no batches to check. */
static int sample_case(struct grade *g, struct case_result *r, struct rounds *rounds)
{
    uint64_t start = io_now(), judged = g->step_ns[STEP_TIME_JUDGE];
    struct deciding deciding = {g, r};
    const struct sampling_request request = {.options = &g->engine->options,
                                             .task = g->task,
                                             .task_case = r->task_case,
                                             .candidate = &g->candidate,
                                             .baseline = &g->baseline,
                                             .judge = &g->judge,
                                             .cold = roofline_is_cold(g->candidate.info),
                                             .bendable = g->device->runs_in_replayer,
                                             .resolution_ns = replay_resolution_ns(&g->candidate),
                                             .floor_difference_ns = g->floor_difference_ns,
                                             .decide = decide_early,
                                             .data = &deciding};
    int result = replay_load(&g->candidate, g->task, r->task_case, &g->finding) ||
                 load_baseline(g, r->task_case) ||
                 (rounds ? rounds_sample(rounds, &request, &r->sampling, &g->finding)
                         : sampling_run(&request, &r->sampling, &g->finding) ||
                               batch_check(&request, &r->sampling, &g->finding));
    judged = g->step_ns[STEP_TIME_JUDGE] - judged;
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start - judged;
    if (result || decide(g, r, r->sampling.snapshots, r->sampling.n_snapshots))
        return -1;
    r->sampled = true;
    return r->pass ? 0 : grade_fail_answer(g, r);
}

/* Clocks, temperature and what holds the device back, for whoever doubts a figure. */
static int note_device_state(struct grade *g, const char *when)
{
    struct finding inner = {.log = NULL};
    json_t *state = replay_ask(&g->baseline, "health", &inner);
    if (!state)
        return sampling_blame_baseline(&inner, &g->finding);
    json_object_del(state, "ok");
    if (json_object_size(state) == 0) {
        json_decref(state);
        return 0;
    }
    if (!g->device_state)
        g->device_state = json_object();
    return json_object_set_new(g->device_state, when, state);
}

/* Where each replayer has an arena of its own, candidate and baseline are measured in replayers with the same past: new ones,
 * with the same arena, that have loaded the same cases in the same order.  A replayer that has run other shapes before is not
 * the same machine (a runtime that keeps specialised code, or memory that lies elsewhere, made one of two equal kernels 20 %
 * slower). */
static int open_fresh_pair(struct grade *g)
{
    struct task_case benchmarks[GRADE_MAX_CASES];
    size_t n = grade_benchmark_cases(g, benchmarks);
    const struct baseline *baseline;
    uint64_t start = io_now();
    replay_close(&g->candidate);
    replay_close(&g->baseline);
    if (replay_open(g->engine, g->device, g->task, benchmarks, n, &g->candidate, &g->finding) ||
        baseline_get(g->engine, g->device, g->task, benchmarks, n, g->candidate.info, &baseline,
                     &g->finding) ||
        replay_open(g->engine, g->device, g->task, benchmarks, n, &g->baseline, &g->finding) ||
        replay_confine(&g->candidate, &g->code, &g->finding) ||
        replay_confine(&g->baseline, &baseline->code, &g->finding) ||
        replay_give(&g->candidate, &g->public_recording, &g->finding) ||
        replay_give(&g->baseline, &baseline->recording, &g->finding) || renew_judge(g))
        return -1;
    g->step_ns[STEP_TIME_BASELINE] += io_now() - start;
    return 0;
}

static int sample_in_one(struct grade *g)
{
    for (size_t i = 0; i < g->n_public; i++)
        if (g->cases[i].kind == CASE_BENCHMARK &&
            (grade_proceed(g, "judging", i, g->n_public) || sample_case(g, &g->results[i], NULL)))
            return -1;
    return 0;
}

static bool wants_round(const struct grade *g, const struct rounds *rounds, size_t i)
{
    return g->cases[i].kind == CASE_BENCHMARK &&
           rounds_want_more(&rounds[i], &g->results[i].sampling);
}

static bool want_round(const struct grade *g, const struct rounds *rounds)
{
    for (size_t i = 0; i < g->n_public; i++)
        if (wants_round(g, rounds, i))
            return true;
    return false;
}

/* The pair for the first is open.  `rounds`: one for each public case. */
static int sample_in_rounds(struct grade *g, struct rounds *rounds)
{
    for (size_t round = 0; want_round(g, rounds); round++) {
        size_t n_rounds = round < ROUNDS_PLANNED ? ROUNDS_PLANNED : round + 1;
        if (round && open_fresh_pair(g))
            return -1;
        for (size_t i = 0; i < g->n_public; i++)
            if (wants_round(g, rounds, i) &&
                (grade_proceed(g, "judging", round * g->n_public + i, n_rounds * g->n_public) ||
                 sample_case(g, &g->results[i], &rounds[i])))
                return -1;
    }
    return 0;
}

static int sample_cases(struct grade *g)
{
    if (!g->device->runs_in_replayer)
        return sample_in_one(g);
    struct rounds *rounds = calloc(g->n_public, sizeof *rounds);
    if (!rounds)
        return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for samples.");
    int result = sample_in_rounds(g, rounds);
    for (size_t i = 0; i < g->n_public; i++)
        rounds_free(&rounds[i]);
    free(rounds);
    return result;
}

static int measure(struct grade *g)
{
    graves_wait(&g->graves); /* of the candidate's host code nothing runs while it is timed */
    if (note_device_state(g, "before") || sample_cases(g) || note_device_state(g, "after") ||
        check_rooflines(g))
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

/* Everything before the first recorder ends: while processes die that have used a card, its driver keeps others waiting.
 *
 * Where arenas can be shared, both sides work in the same memory: how buffers lie in a card's channels and cache is worth
 * three percent of some kernels' time, and differs from one allocation to the next. */
static int open_baseline_beside(struct grade *g)
{
    struct task_case benchmarks[GRADE_MAX_CASES];
    size_t n = grade_benchmark_cases(g, benchmarks);
    const struct baseline *baseline;
    uint64_t start = io_now();
    int result = baseline_get(g->engine, g->device, g->task, benchmarks, n, g->candidate.info,
                              &baseline, &g->finding) ||
                 replay_open_beside(g->engine, g->task, &g->candidate, &g->baseline, &g->finding) ||
                 replay_give(&g->baseline, &baseline->recording, &g->finding) || open_judge(g) ||
                 grade_hear_recorders(g) ||
                 /* With nobody else at work, and no code but ours in either. */
                 floor_difference(&g->candidate, &g->baseline, replay_resolution_ns(&g->candidate),
                                  &g->floor_difference_ns, &g->finding);
    g->step_ns[STEP_TIME_BASELINE] = io_now() - start;
    return result ? -1 : 0;
}

static int check_runtime(struct grade *g)
{
    struct task_case benchmarks[GRADE_MAX_CASES];
    size_t n = grade_benchmark_cases(g, benchmarks);
    const struct baseline *baseline;
    return baseline_get(g->engine, g->device, g->task, benchmarks, n, g->candidate.info, &baseline,
                        &g->finding);
}

int grade_open_workers(struct grade *g)
{
    return grade_open_candidate(g) || (!g->slot->ceilings && measure_ceilings(g, &g->candidate)) ||
                   grade_ask_recorders(g) || (g->device->shares_arena && open_baseline_beside(g)) ||
                   (g->device->baseline_first && check_runtime(g))
               ? -1
               : 0;
}

int grade_replay(struct grade *g)
{
    kgrade_error err = {.code = ""};
    cleanup_bytes struct bytes file = {0};
    uint64_t start = io_now();
    if (recording_write(g->recording, &file, &err)) {
        /* With the public cases alone it could be written. */
        grade_blame_recording(g, &err);
        return g->n_recorded > g->n_public ? finding_hide(&g->finding) : -1;
    }
    if ((!g->device->shares_arena && open_judge(g)) ||
        replay_give(&g->candidate, &file, &g->finding))
        return -1;
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    if (check_correctness(g))
        return -1;
    if (!g->device->shares_arena && open_fresh_pair(g))
        return -1;
    return measure(g) || grade_check_again(g) ? -1 : 0;
}

/* All at once: a process takes its time to give a device back. */
void grade_close_workers(struct grade *g, struct graves *graves)
{
    for (size_t i = 0; i < sizeof g->recorders / sizeof g->recorders[0]; i++)
        worker_bury(&g->recorders[i].worker, graves);
    worker_bury(&g->judge.worker, graves);
    worker_bury(&g->candidate.worker, graves);
    worker_bury(&g->baseline.worker, graves);
    judge_close(&g->judge);
    replay_close(&g->candidate);
    replay_close(&g->baseline);
}
