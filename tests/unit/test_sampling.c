/* Sampling, with replays that follow a script instead of a clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "grader/measure/floor.h"
#include "grader/measure/pairs.h"

#define FLOOR_NS 100.0
#define BASELINE_NS 20000.0
#define CANDIDATE_NS 10000.0
#define REQUEST_NS 5000.0 /* that asking costs, by the grader's clock */
#define LEFT_NS (SAMPLING_DISTURBED_NS * 1.5)
#define SLOWED 10.0 /* a baseline beside work that a candidate has left */

/* How the replays of this test behave. */
static struct script {
    struct replay candidate, baseline;
    unsigned
        leaves_one_in; /* of the candidate's replays, 0 for none, after which its process goes on working ... */
    double left_ns; /* ... for so long */
    unsigned leaves_at_most;
    double candidate_ns,
        scatter;           /* the samples are even between 1 - scatter and 1 + scatter of it */
    double slower_ns;      /* the candidate's process is, than the baseline's, with nothing to do */
    double hidden_ns;      /* of a candidate's replay, that its stamps do not show */
    bool together;         /* the baseline's samples scatter like the candidate's before them */
    unsigned other_one_in; /* of the candidate's replays take four times as long */
    bool always_void;
    unsigned samples; /* at most */
    unsigned room;    /* of the judge, for so many snapshots at a time; 0: for all */
    bool cannot_decide, decides_in_vain;
} script;

/* What came of it. */
static struct seen {
    unsigned candidates, baselines, floors, left, judged, judged_early, held, decided;
    bool at_work; /* the candidate's process is, after its last replay */
    uint64_t last_seed, judged_seed;
    json_int_t next_id;
} seen;

int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding)
{
    (void)poison, (void)cold, (void)finding;
    if (replay == &script.candidate)
        seen.last_seed = seed;
    return 0;
}

/* Evenly spread, so that nothing depends on chance: 0, 1/2, 1/4, 3/4, 1/8, ... */
static double scattered(unsigned n)
{
    double place = 0;
    for (unsigned bit = 0; bit < 16; bit++)
        place += (n >> bit & 1) / (double)(2u << bit);
    return 1 + script.scatter * (2 * place - 1);
}

static void run_candidate(struct replay_time *ret)
{
    unsigned n = seen.candidates++;
    ret->ns = FLOOR_NS + script.slower_ns + script.candidate_ns * scattered(n);
    if (script.other_one_in && n % script.other_one_in == 0)
        ret->ns += 3 * script.candidate_ns;
    ret->wall_ns = ret->ns + REQUEST_NS + script.hidden_ns;
    ret->is_void = seen.at_work || script.always_void;
    ret->left_ns = seen.at_work ? script.left_ns : 0;
    seen.at_work = !ret->is_void && script.leaves_one_in && seen.left < script.leaves_at_most &&
                   n % script.leaves_one_in == 0;
    seen.left += seen.at_work;
}

int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding)
{
    (void)finding;
    *ret = (struct replay_time){.ns = FLOOR_NS};
    if (empty)
        seen.floors++;
    else if (replay == &script.candidate)
        run_candidate(ret);
    else {
        double part = script.together ? scattered(seen.baselines) : 1;
        seen.baselines++;
        ret->ns = FLOOR_NS + BASELINE_NS * part * (seen.at_work ? SLOWED : 1);
        ret->wall_ns = ret->ns + REQUEST_NS;
    }
    return 0;
}

int judge_snapshot(struct judge_client *judge, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *finding)
{
    (void)judge, (void)task, (void)c, (void)poison;
    if (script.room && seen.held == script.room)
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "judge_memory", NULL, "Full.");
    seen.held++;
    seen.judged++;
    seen.judged_early += seen.candidates <= SAMPLING_MIN_SAMPLES + SAMPLING_WARMUPS;
    seen.judged_seed = seed;
    *ret_id = seen.next_id++;
    return 0;
}

static int decide(void *data, const json_int_t *snapshots, size_t n, struct finding *finding)
{
    (void)finding;
    assert_ptr_equal(data, &script);
    assert_int_equal(n, seen.held);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(snapshots[i], seen.decided + i);
    seen.decided += (unsigned)n;
    if (script.decides_in_vain)
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_died", NULL, "Gone.");
    seen.held = 0;
    return 0;
}

static const struct script plain = {.left_ns = LEFT_NS,
                                    .leaves_at_most = 1000000,
                                    .candidate_ns = CANDIDATE_NS,
                                    .scatter = 0.001,
                                    .samples = 100};

static int sample_pairs(const struct script *how, bool bendable, struct pairs *pairs,
                        struct sampling *ret, struct finding *f)
{
    static struct task_case task_case;
    const kgrade_options options = {.max_samples = how->samples, .max_seconds = 60};
    script = *how;
    seen = (struct seen){0};
    *f = (struct finding){.log = NULL};
    const struct sampling_request request = {.options = &options,
                                             .task_case = &task_case,
                                             .candidate = &script.candidate,
                                             .baseline = &script.baseline,
                                             .bendable = bendable,
                                             .resolution_ns = 1,
                                             .floor_difference_ns = script.slower_ns,
                                             .decide = how->cannot_decide ? NULL : decide,
                                             .data = &script};
    return sampling_take(&request, pairs, ret, f);
}

static int sample(const struct script *how, bool bendable, struct sampling *ret, struct finding *f)
{
    cleanup_pairs struct pairs pairs = PAIRS_NONE;
    return sample_pairs(how, bendable, &pairs, ret, f);
}

static void assert_speedup(const struct sampling *s, double speedup)
{
    assert_true(s->speedup > speedup * 0.99 && s->speedup < speedup * 1.01);
    assert_true(s->low <= s->speedup && s->speedup <= s->high);
}

static void quiet_samples_give_the_ratio(void **state)
{
    (void)state;
    struct sampling s;
    struct finding f;
    assert_int_equal(sample(&plain, false, &s, &f), 0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_string_equal(s.stopped, "precision");
    assert_speedup(&s, BASELINE_NS / CANDIDATE_NS);
    assert_true(s.candidate.floor_ns > FLOOR_NS - 1 && s.candidate.floor_ns < FLOOR_NS + 1);
    assert_int_equal(seen.floors, FLOOR_SAMPLES);
    /* Every pair counts; one more may have closed. */
    assert_in_range(s.candidate.time.n, SAMPLING_MIN_SAMPLES, SAMPLING_MIN_SAMPLES + 1);
    assert_int_equal(seen.candidates, s.candidate.time.n + SAMPLING_WARMUPS);
    assert_int_equal(seen.baselines, seen.candidates);
}

/* What moves both sides of a pair leaves the ratio alone, and the time is to be known as well. */
static void the_time_is_known_too(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.samples = 400;
    how.together = true;
    how.scatter = 0.02; /* evenly: a standard deviation of 1.15 % */
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_string_equal(s.stopped, "precision");
    assert_true(s.high - s.low < 0.001);
    assert_in_range(s.candidate.time.n, 60, 101);
    assert_true(fabs(s.candidate.time.centre - CANDIDATE_NS) < 0.003 * CANDIDATE_NS);
    how.scatter = 0.001;
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_in_range(s.candidate.time.n, SAMPLING_MIN_SAMPLES, SAMPLING_MIN_SAMPLES + 1);
}

static void each_side_has_its_own_floor(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.slower_ns = CANDIDATE_NS;
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_speedup(&s, BASELINE_NS / CANDIDATE_NS);
    assert_int_equal(seen.floors, FLOOR_SAMPLES);
    assert_true(s.candidate.floor_ns == s.baseline.floor_ns + CANDIDATE_NS);
    assert_true(s.candidate.time.median > CANDIDATE_NS - 100 &&
                s.candidate.time.median < CANDIDATE_NS + 100);
}

static void the_last_sample_and_eight_of_the_first_are_judged(void **state)
{
    (void)state;
    struct sampling s;
    struct finding f;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sample(&plain, false, &s, &f), 0);
        assert_int_equal(seen.judged, s.n_snapshots);
        assert_in_range(seen.judged_early, SAMPLING_JUDGED_EARLY, SAMPLING_JUDGED_EARLY + 1);
        assert_in_range(seen.judged, SAMPLING_JUDGED_EARLY, SAMPLING_MAX_JUDGED);
        assert_int_equal(seen.judged_seed, seen.last_seed);
    }
}

static void pairs_tell_which_were_judged(void **state)
{
    (void)state;
    struct sampling s;
    struct finding f;
    struct script how = plain;
    how.scatter = 0.5;
    for (int i = 0; i < 20; i++) {
        cleanup_pairs struct pairs pairs = PAIRS_NONE;
        unsigned judged = 0;
        assert_int_equal(sample_pairs(&how, false, &pairs, &s, &f), 0);
        for (size_t k = 0; k < pairs.n; k++)
            judged += pairs.judged[k];
        assert_int_equal(judged, seen.judged);
        assert_true(pairs.judged[pairs.n - 1]);
    }
}

static unsigned count_slow(const struct sampling *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->baseline.n_kept; i++)
        n += s->baseline.kept[i] > BASELINE_NS * 2;
    return n;
}

/* A kernel whose process goes on working, now and then, slows the baseline that comes next. */
static void pairs_beside_left_work_are_dropped(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.leaves_one_in = 5;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sample(&how, true, &s, &f), 0);
        assert_int_equal(s.verdict, KGRADE_ACCEPTED);
        assert_speedup(&s, BASELINE_NS / CANDIDATE_NS);
        assert_true(seen.left > 3);
        /* What follows the very last sample is seen by no other. */
        assert_true(count_slow(&s) <= 1);
        assert_true(seen.baselines > s.baseline.time.n + SAMPLING_WARMUPS);
    }
}

/* The same with nothing dropped: the slow samples stay. */
static void short_work_drops_nothing(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.leaves_one_in = 2;
    how.left_ns = SAMPLING_DISTURBED_NS;
    assert_int_equal(sample(&how, true, &s, &f), 0);
    assert_true(s.candidate.voids > 3);
    assert_true(count_slow(&s) > 3);
    assert_int_equal(seen.baselines, s.baseline.time.n + SAMPLING_WARMUPS);
}

static void too_many_dropped_pairs_are_no_result(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.leaves_one_in = 1;
    assert_int_equal(sample(&how, true, &s, &f), -1);
    assert_int_equal(f.verdict, KGRADE_UNRESOLVED);
    assert_string_equal(f.reason.code, "too_noisy");
    assert_non_null(strstr(f.reason.message, "201"));
    assert_true(f.retryable);
    assert_int_equal(seen.baselines, SAMPLING_MAX_DROPPED + 1 + SAMPLING_WARMUPS);
}

/* Warm-ups may have one each, and the one before the first pair drops that. */
static void as_many_as_are_allowed_are(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.leaves_one_in = 1;
    how.leaves_at_most = SAMPLING_MAX_DROPPED + SAMPLING_WARMUPS - 1;
    assert_int_equal(sample(&how, true, &s, &f), 0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_speedup(&s, BASELINE_NS / CANDIDATE_NS);
    how.leaves_at_most++;
    assert_int_equal(sample(&how, true, &s, &f), -1);
    assert_string_equal(f.reason.code, "too_noisy");
}

static void voids_in_a_row_are_the_machines_fault(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.always_void = true;
    assert_int_equal(sample(&how, false, &s, &f), -1);
    assert_int_equal(f.verdict, KGRADE_INFRASTRUCTURE_ERROR);
    assert_string_equal(f.reason.code, "samples_void");
    assert_int_equal(seen.candidates, SAMPLING_MAX_VOIDS);
}

/* Figures that cannot stand. */
static void expect_doubt(const struct script *how, bool bendable, kgrade_verdict verdict,
                         const char *code)
{
    struct sampling s;
    struct finding f;
    assert_int_equal(sample(how, bendable, &s, &f), 0);
    assert_int_equal(s.verdict, verdict);
    assert_string_equal(s.code, code);
    assert_true(s.message[0]);
}

static void figures_that_cannot_stand_are_doubted(void **state)
{
    (void)state;
    struct script how = plain;
    how.candidate_ns = 0.5;
    expect_doubt(&how, false, KGRADE_UNRESOLVED, "below_resolution");
    how = plain;
    how.scatter = 0.99;
    how.samples = SAMPLING_MIN_SAMPLES;
    expect_doubt(&how, false, KGRADE_UNRESOLVED, "too_noisy");
    how = plain;
    how.other_one_in = 2;
    expect_doubt(&how, false, KGRADE_SUSPECT, "two_clusters");
    how = plain;
    how.hidden_ns = SAMPLING_GUARD_NS * 1.1;
    expect_doubt(&how, false, KGRADE_SUSPECT, "clocks_disagree");
    expect_doubt(&how, true, KGRADE_SUSPECT, "clocks_disagree");
}

/* So many pairs of which some are judged; those take `judged_ns`, the others `others_ns`, where `drifts` the baseline, too. */
static void conclude(size_t n, size_t judged, double judged_ns, double others_ns, bool drifts,
                     struct sampling *ret)
{
    static struct task_case task_case;
    static const kgrade_options options = {.max_samples = 1};
    const struct sampling_request request = {
        .options = &options, .task_case = &task_case, .resolution_ns = 1};
    struct pairs pairs = PAIRS_NONE, both = PAIRS_NONE;
    assert_int_equal(pairs_make(n, &pairs, NULL), 0);
    assert_int_equal(pairs_make(n, &both, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        pairs.judged[i] = i % 2 && i / 2 < judged;
        pairs.candidate[i] = pairs.judged[i] ? judged_ns : others_ns;
        pairs.baseline[i] = drifts ? 2 * pairs.candidate[i] : BASELINE_NS;
        pairs.ratios[i] = pairs.baseline[i] / pairs.candidate[i];
    }
    pairs.n = n;
    *ret = (struct sampling){.verdict = KGRADE_ACCEPTED};
    pairs_append(&both, &pairs);
    pairs_interval(&both, ret);
    pairs_conclude(&both, &request, ret);
    pairs_free(&pairs);
    pairs_free(&both);
}

static void judged_samples_are_like_the_others(void **state)
{
    (void)state;
    struct sampling s;
    conclude(20, 8, 1.2 * CANDIDATE_NS, CANDIDATE_NS, false, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    conclude(20, 8, 1.3 * CANDIDATE_NS, CANDIDATE_NS, false, &s);
    assert_int_equal(s.verdict, KGRADE_SUSPECT);
    assert_string_equal(s.code, "judged_differ");
    assert_string_equal(s.message,
                        "The samples that were judged took 13000 ns, the others 10000 ns.");
    conclude(20, 8, CANDIDATE_NS, 1.3 * CANDIDATE_NS, false, &s);
    assert_string_equal(s.code, "judged_differ");
    conclude(20, 5, 1.3 * CANDIDATE_NS, CANDIDATE_NS, false, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED); /* too few to tell */
    conclude(20, 8, 1.3 * CANDIDATE_NS, CANDIDATE_NS, true, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
}

/* Of cases of gigabytes a judge holds a few samples at a time. */
static void a_judge_without_room_decides_on_the_way(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.room = 2;
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_null(f.log);
    assert_string_equal(f.reason.code, "");
    assert_int_equal(s.n_judged, seen.judged);
    assert_int_equal(s.n_snapshots, seen.held);
    assert_int_equal(seen.decided + seen.held, seen.judged);
    assert_in_range(s.n_judged, SAMPLING_JUDGED_EARLY, SAMPLING_MAX_JUDGED);
    assert_int_equal(seen.judged_seed, seen.last_seed);
    for (size_t i = 0; i < s.n_snapshots; i++)
        assert_int_equal(s.snapshots[i], seen.decided + i);
    /* However many samples there are, no more than usual. */
    how.scatter = 0.5;
    how.samples = 400;
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_in_range(s.n_judged, SAMPLING_JUDGED_EARLY, SAMPLING_MAX_JUDGED);
}

static void a_judge_that_cannot_decide_is_full(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.room = 2;
    how.cannot_decide = true;
    assert_int_equal(sample(&how, false, &s, &f), -1);
    assert_string_equal(f.reason.code, "judge_memory");
    how.cannot_decide = false;
    how.decides_in_vain = true;
    assert_int_equal(sample(&how, false, &s, &f), -1);
    assert_string_equal(f.reason.code, "worker_died");
}

static void what_the_guard_allows_stands(void **state)
{
    (void)state;
    struct script how = plain;
    struct sampling s;
    struct finding f;
    how.hidden_ns = SAMPLING_GUARD_NS * 0.9;
    assert_int_equal(sample(&how, false, &s, &f), 0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_samples_give_the_ratio),
        cmocka_unit_test(the_time_is_known_too),
        cmocka_unit_test(each_side_has_its_own_floor),
        cmocka_unit_test(the_last_sample_and_eight_of_the_first_are_judged),
        cmocka_unit_test(pairs_beside_left_work_are_dropped),
        cmocka_unit_test(short_work_drops_nothing),
        cmocka_unit_test(too_many_dropped_pairs_are_no_result),
        cmocka_unit_test(as_many_as_are_allowed_are),
        cmocka_unit_test(voids_in_a_row_are_the_machines_fault),
        cmocka_unit_test(judged_samples_are_like_the_others),
        cmocka_unit_test(pairs_tell_which_were_judged),
        cmocka_unit_test(figures_that_cannot_stand_are_doubted),
        cmocka_unit_test(what_the_guard_allows_stands),
        cmocka_unit_test(a_judge_without_room_decides_on_the_way),
        cmocka_unit_test(a_judge_that_cannot_decide_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
