/*
 * Whether a call's work depends on its dims alone.
 *
 * The recorder of the hidden cases records a public benchmark case again, after them: in another process, after other calls,
 * at another time.  Both recordings should be the same work.  Where they are not, nothing is proved: who tunes at run time may
 * settle for another kernel each time, who counts generations passes another number.  But then both take about
 * as long.  So only now, which is seldom, the second recording is timed beside the first, and only when it takes much
 * longer has the graded work been less than what the candidate does elsewhere.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../measure/work.h"
#include "state.h"

/* Beyond this, the two recordings' times are not told apart by tuning.  The whole interval must lie above. */
#define AGAIN_SUSPECT 1.5
#define AGAIN_SAMPLES 40u
#define AGAIN_SECONDS 1.0
#define AGAIN_PRECISION 0.1

#define HINT                                                                                       \
    "Let what is launched depend on the dims alone; kernels that are chosen by trial should be "   \
    "about equally fast each time."

int grade_choose_again(struct grade *g)
{
    size_t benchmarks[GRADE_MAX_CASES], n = 0;
    uint64_t random;
    for (size_t i = 0; i < g->n_public; i++)
        if (g->cases[i].kind == CASE_BENCHMARK)
            benchmarks[n++] = i;
    if (n == 0)
        return 0;
    io_random(&random, sizeof random);
    g->again_case = benchmarks[random % n];
    g->again = recording_new(g->device->name, g->task);
    if (!g->again)
        return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for a recording.");
    return 0;
}

static enum work_difference difference(const struct grade *g)
{
    const int64_t *dims = g->cases[g->again_case].dims;
    const struct recording_call *first = recording_find_call(g->recording, dims),
                                *second = g->again ? recording_find_call(g->again, dims) : NULL;
    return first && second ? work_compare(g->recording, first, g->again, second) : WORK_SAME;
}

/* Where kernels are native code, one replayer compiles it and another is timed, as for any candidate. */
static int pack(struct grade *g, const struct bytes *file, struct bytes *ret, struct finding *f)
{
    const struct task_case *c = &g->cases[g->again_case];
    cleanup_replay struct replay replay = REPLAY_NONE;
    struct replay_time time;
    uint64_t seeds[2];
    io_random(seeds, sizeof seeds);
    return replay_open(g->engine, g->device, g->task, c, 1, &replay, f) ||
                   replay_give(&replay, file, f) ||
                   judge_feed(&g->judge, g->task, g->cases, g->n_cases, &replay, f) ||
                   replay_load(&replay, g->task, c, f) ||
                   replay_prepare(&replay, seeds[0], seeds[1], false, f) ||
                   replay_run(&replay, false, &time, f) || replay_pack(&replay, ret, f)
               ? -1
               : 0;
}

static int open_again(struct grade *g, struct replay *ret, struct finding *f)
{
    const struct task_case *c = &g->cases[g->again_case];
    kgrade_error err = {.code = ""};
    cleanup_bytes struct bytes file = {0}, code = {0};
    if (recording_write(g->again, &file, &err))
        return finding_infrastructure(f, &err);
    if (g->device->shares_arena)
        return replay_open_beside(g->engine, g->task, &g->candidate, ret, f) ||
                       replay_give(ret, &file, f) ||
                       judge_feed(&g->judge, g->task, g->cases, g->n_cases, ret, f)
                   ? -1
                   : 0;
    return pack(g, &file, &code, f) || replay_open(g->engine, g->device, g->task, c, 1, ret, f) ||
                   replay_confine(ret, &code, f) || replay_give(ret, &file, f) ||
                   judge_feed(&g->judge, g->task, g->cases, g->n_cases, ret, f)
               ? -1
               : 0;
}

static int judge_samples(struct grade *g, const json_int_t *snapshots, size_t n, struct finding *f)
{
    for (size_t i = 0; i < n; i++) {
        struct judgement judgement = {0};
        if (judge_decide(&g->judge, snapshots[i], &judgement, f))
            return -1;
        case_result_judge(&g->results[g->again_case], &judgement);
    }
    return 0;
}

static int decide_early(void *data, const json_int_t *snapshots, size_t n, struct finding *f)
{
    return judge_samples(data, snapshots, n, f);
}

/* The graded recording stands where a grade has the candidate, so that its samples are judged once more. */
static int sample_both(struct grade *g, struct replay *again, struct sampling *ret,
                       struct finding *f)
{
    const struct task_case *c = &g->cases[g->again_case];
    kgrade_options options = g->engine->options;
    options.max_samples = AGAIN_SAMPLES;
    options.max_seconds = AGAIN_SECONDS;
    options.precision = AGAIN_PRECISION;
    const struct sampling_request request = {.options = &options,
                                             .task = g->task,
                                             .task_case = c,
                                             .candidate = &g->candidate,
                                             .baseline = again,
                                             .judge = &g->judge,
                                             .cold = roofline_is_cold(g->candidate.info),
                                             .bendable = g->device->runs_in_replayer,
                                             .resolution_ns = replay_resolution_ns(&g->candidate),
                                             .decide = decide_early,
                                             .data = g};
    return replay_load(&g->candidate, g->task, c, f) || sampling_run(&request, ret, f) ? -1 : 0;
}

static int suspect(struct grade *g, enum work_difference d, const char *but)
{
    json_auto_t *json = task_dims_json(g->task, g->cases[g->again_case].dims);
    cleanup_free char *dims = json_dumps(json, JSON_COMPACT);
    return finding_set(&g->finding, KGRADE_SUSPECT, "work_differs", HINT,
                       "In another process the call of case %s has %s%s", dims ? dims : "",
                       work_words(d), but);
}

/* The second recording comes from a process that has heard of hidden dims: no more of it may be told than that it
 * failed. */
static int blame_again(struct grade *g, enum work_difference d, struct finding *inner)
{
    if (inner->verdict == KGRADE_INFRASTRUCTURE_ERROR) {
        g->finding = *inner;
        return -1;
    }
    finding_free(inner);
    return suspect(g, d, ", and cannot be replayed.");
}

/* A fault of the graded recording is what it always is; only what cannot be timed is nobody's. */
static int blame_samples(struct grade *g, enum work_difference d, struct finding *inner)
{
    if (!strcmp(inner->reason.code, "baseline_failed")) {
        finding_free(inner);
        return suspect(g, d, ", and cannot be replayed.");
    }
    if (inner->verdict == KGRADE_UNRESOLVED) {
        finding_free(inner);
        return 0;
    }
    g->finding = *inner;
    return -1;
}

/* Of how much longer the other work takes only tenths are told. */
static int weigh(struct grade *g, enum work_difference d, const struct sampling *s)
{
    char but[96];
    struct case_result *r = &g->results[g->again_case];
    if (judge_samples(g, s->snapshots, s->n_snapshots, &g->finding))
        return -1;
    if (!r->pass)
        return grade_fail_answer(g, r);
    if (!(s->low > AGAIN_SUSPECT))
        return 0;
    snprintf(but, sizeof but, ", and takes %.1f times as long as the one that was graded.",
             s->speedup);
    return suspect(g, d, but);
}

static int time_both(struct grade *g, enum work_difference d, struct sampling *s)
{
    struct finding inner = {.log = NULL};
    cleanup_replay struct replay again = REPLAY_NONE;
    if (open_again(g, &again, &inner) ||
        replay_load(&again, g->task, &g->cases[g->again_case], &inner))
        return blame_again(g, d, &inner);
    if (sample_both(g, &again, s, &inner))
        return blame_samples(g, d, &inner);
    return weigh(g, d, s);
}

int grade_check_again(struct grade *g)
{
    enum work_difference d = difference(g);
    if (d == WORK_SAME)
        return 0;
    uint64_t start = io_now();
    cleanup_free struct sampling *s = calloc(1, sizeof *s);
    if (!s)
        return finding_set(&g->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for samples.");
    int result = time_both(g, d, s);
    g->step_ns[STEP_TIME_REPLAY] += io_now() - start;
    return result;
}
