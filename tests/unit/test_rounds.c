/* Sampling in rounds, with replays that follow a script instead of a clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "grader/measure/rounds.h"

#define CANDIDATE_NS 1e6
#define REQUEST_NS 400e3 /* that asking costs, by the grader's clock */
#define LEAST (SAMPLING_MIN_SAMPLES / ROUNDS_PLANNED)

/* What a pair of replayers does. */
struct pair {
    double speedup; /* of the baseline's time */
    double
        scatter; /* the candidate's samples are even between 1 - scatter and 1 + scatter of CANDIDATE_NS */
    double hidden_ns; /* of a candidate's replay, that its stamps do not show */
    bool dies;
};

static struct {
    struct replay candidate, baseline;
    struct pair pairs[SAMPLING_MAX_ROUNDS];
    unsigned pair; /* that is at work */
    unsigned candidates, judged, judged_early;
    uint64_t last_seed, judged_seed;
    json_int_t next_id;
} script;

int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding)
{
    (void)poison, (void)cold, (void)finding;
    if (replay == &script.candidate)
        script.last_seed = seed;
    return 0;
}

int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding)
{
    const struct pair *p = &script.pairs[script.pair];
    double place = 0;
    *ret = (struct replay_time){.ns = 0};
    if (empty)
        return 0;
    if (replay == &script.candidate) {
        unsigned n = script.candidates++;
        if (p->dies && n == LEAST)
            return finding_set(finding, KGRADE_RUNTIME_ERROR, "replay_crashed", NULL, "Dead.");
        /* Evenly spread, so that nothing depends on chance: 0, 1/2, 1/4, 3/4, 1/8, ... */
        for (unsigned bit = 0; bit < 16; bit++)
            place += (n >> bit & 1) / (double)(2u << bit);
        ret->ns = CANDIDATE_NS * (1 + p->scatter * (2 * place - 1));
        ret->wall_ns = ret->ns + REQUEST_NS + p->hidden_ns;
    } else {
        ret->ns = CANDIDATE_NS * p->speedup;
        ret->wall_ns = ret->ns + REQUEST_NS;
    }
    return 0;
}

int judge_snapshot(struct judge_client *judge, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *finding)
{
    (void)judge, (void)task, (void)c, (void)poison, (void)finding;
    script.judged++;
    script.judged_early += script.candidates <= LEAST + SAMPLING_WARMUPS;
    script.judged_seed = seed;
    *ret_id = script.next_id++;
    return 0;
}

/* As a grade does: rounds until no more are wanted.  *ret_snapshots: of all of them. */
static int sample(const struct pair *pairs, uint32_t max_samples, struct rounds *rounds,
                  struct sampling *ret, size_t *ret_snapshots, struct finding *f)
{
    static struct task_case task_case;
    const kgrade_options options = {
        .max_samples = max_samples, .max_seconds = 600, .precision = 0.01};
    const struct sampling_request request = {.options = &options,
                                             .task_case = &task_case,
                                             .candidate = &script.candidate,
                                             .baseline = &script.baseline,
                                             .bendable = true,
                                             .resolution_ns = 1};
    memset(&script, 0, sizeof script);
    memcpy(script.pairs, pairs, sizeof script.pairs);
    memset(rounds, 0, sizeof *rounds);
    *ret = (struct sampling){.n_rounds = 0};
    *f = (struct finding){.log = NULL};
    *ret_snapshots = 0;
    while (rounds_want_more(rounds, ret)) {
        assert_true(rounds->n < SAMPLING_MAX_ROUNDS);
        script.pair = (unsigned)rounds->n;
        script.candidates = 0;
        if (rounds_sample(rounds, &request, ret, f))
            return -1;
        assert_int_equal(ret->n_rounds, rounds->n);
        assert_int_equal(ret->n_snapshots, ret->n_judged);
        *ret_snapshots += ret->n_snapshots;
        assert_int_equal(ret->snapshots[0], *ret_snapshots - ret->n_snapshots);
        assert_int_equal(script.judged_seed, script.last_seed);
    }
    return 0;
}

/* Which of the rounds count, one digit each: 101. */
static unsigned counted(const struct sampling *s)
{
    unsigned ret = 0;
    for (size_t i = 0; i < s->n_rounds; i++)
        ret = ret * 10 + s->rounds[i].counts;
    return ret;
}

static void assert_about(double got, double wanted)
{
    assert_true(got > wanted * 0.998 && got < wanted * 1.002);
}

/* Of pairs that are steady at these speedups. */
static void expect(double first, double second, double third, struct sampling *ret)
{
    const struct pair pairs[] = {
        {first, 0.001, 0, false}, {second, 0.001, 0, false}, {third, 0.001, 0, false}};
    struct rounds rounds;
    struct finding f;
    size_t snapshots, n = 0;
    assert_int_equal(sample(pairs, 120, &rounds, ret, &snapshots, &f), 0);
    assert_int_equal(snapshots, script.judged);
    for (size_t i = 0; i < ret->n_rounds; i++) {
        const struct sampling_round *r = &ret->rounds[i];
        assert_about(r->speedup, pairs[i].speedup);
        assert_true(r->low <= r->speedup && r->speedup <= r->high);
        n += r->counts ? rounds.rounds[i].pairs.n : 0;
        if (r->counts)
            assert_true(ret->low <= r->speedup && r->speedup <= ret->high);
    }
    assert_int_equal(ret->candidate.time.n, n);
    assert_int_equal(ret->baseline.time.n, n);
    assert_int_equal(ret->candidate.n_kept, n);
    assert_about(ret->candidate.time.median, CANDIDATE_NS);
    assert_string_equal(ret->stopped, "precision");
    rounds_free(&rounds);
}

static void two_rounds_that_agree_share_the_samples(void **state)
{
    (void)state;
    struct sampling s;
    expect(2, 2, 0, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(s.n_rounds, ROUNDS_PLANNED);
    assert_int_equal(counted(&s), 11);
    assert_about(s.speedup, 2);
    assert_true(s.high - s.low < 0.01);
    /* One more pair may have closed either. */
    assert_in_range(s.candidate.time.n, SAMPLING_MIN_SAMPLES, SAMPLING_MIN_SAMPLES + 2);
    assert_in_range(script.judged, SAMPLING_JUDGED_EARLY, SAMPLING_JUDGED_EARLY + 2);
    assert_in_range(script.judged_early, SAMPLING_JUDGED_EARLY, SAMPLING_JUDGED_EARLY + 2);
}

static void processes_that_differ_widen_the_interval(void **state)
{
    (void)state;
    struct sampling s;
    expect(2, 2 * (1 + ROUNDS_SLACK * 0.9), 0, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(counted(&s), 11);
    assert_true(s.high - s.low >= ROUNDS_SLACK * 0.9 * 2 * 0.99);
    assert_true(s.speedup > s.rounds[0].speedup && s.speedup < s.rounds[1].speedup);
}

/* Each round of these is known to about 1.2 %, both together to 0.75 %, where 1 % is wanted. */
static void two_rounds_together_are_precise(void **state)
{
    (void)state;
    const struct pair rough = {1, 0.024, 0, false};
    struct rounds rounds;
    struct sampling s;
    struct finding f;
    size_t snapshots;
    assert_int_equal(sample((struct pair[]){rough, rough, rough}, 240, &rounds, &s, &snapshots, &f),
                     0);
    assert_int_equal(s.n_rounds, ROUNDS_PLANNED);
    assert_string_equal(s.stopped, "precision");
    assert_in_range(s.candidate.time.n, SAMPLING_MIN_SAMPLES, SAMPLING_MIN_SAMPLES + 2);
    for (size_t i = 0; i < s.n_rounds; i++)
        assert_true(s.rounds[i].high - s.rounds[i].low > 2 * 0.01 * s.rounds[i].speedup);
    assert_true(s.high - s.low < 2 * 0.01 * s.speedup);
    rounds_free(&rounds);
}

static void a_third_round_decides_between_two(void **state)
{
    (void)state;
    struct sampling s;
    /* Whichever of them is off, and to whichever side. */
    expect(2.92, 1, 1, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(counted(&s), 11);
    assert_about(s.speedup, 1);
    assert_about(s.baseline.time.median, CANDIDATE_NS);
    expect(1, 2.92, 1, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(counted(&s), 101);
    assert_about(s.speedup, 1);
    expect(1, 0.3, 1, &s);
    assert_int_equal(counted(&s), 101);
    assert_about(s.speedup, 1);
    expect(1, 1 + ROUNDS_SLACK * 1.1, 1, &s);
    assert_int_equal(s.n_rounds, 3);
    expect(1, 2, 2, &s);
    assert_int_equal(counted(&s), 11);
    assert_about(s.speedup, 2);
}

static void what_agrees_with_both_counts_with_both(void **state)
{
    (void)state;
    struct sampling s;
    expect(1, 1 + ROUNDS_SLACK * 1.6, 1 + ROUNDS_SLACK * 0.8, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(counted(&s), 111);
    assert_about(s.speedup, 1 + ROUNDS_SLACK * 0.8);
}

static void where_no_two_agree_there_is_no_result(void **state)
{
    (void)state;
    struct sampling s;
    expect(1, 2, 3, &s);
    assert_int_equal(s.verdict, KGRADE_UNRESOLVED);
    assert_string_equal(s.code, "too_noisy");
    assert_non_null(strstr(s.message, "1.000 and 3.000 in 3 of them"));
    assert_int_equal(counted(&s), 10); /* what is shown is of the one in the middle */
    assert_about(s.speedup, 2);
}

/* Two rounds that agree, for all that is known of them, are followed by a third one that may tell. */
static void noise_is_given_a_third_round(void **state)
{
    (void)state;
    const struct pair noisy = {1, 0.9, 0, false}, quiet = {1, 0.001, 0, false};
    struct rounds rounds;
    struct sampling s;
    struct finding f;
    size_t snapshots;
    assert_int_equal(sample((struct pair[]){noisy, noisy, noisy}, 30, &rounds, &s, &snapshots, &f),
                     0);
    assert_int_equal(s.n_rounds, 3);
    assert_int_equal(counted(&s), 111);
    assert_string_equal(s.code, "too_noisy");
    assert_string_equal(s.stopped, "samples");
    rounds_free(&rounds);
    assert_int_equal(sample((struct pair[]){noisy, quiet, quiet}, 30, &rounds, &s, &snapshots, &f),
                     0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    rounds_free(&rounds);
}

/* The limit is on all rounds together; only the least number of samples comes before it. */
static void limits_hold_in_total(void **state)
{
    (void)state;
    const struct pair noisy = {1, 0.9, 0, false};
    const uint32_t limits[][2] = {
        {240, 240}, {1, SAMPLING_MAX_ROUNDS * LEAST}, {2, SAMPLING_MAX_ROUNDS * LEAST}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rounds rounds;
        struct sampling s;
        struct finding f;
        size_t snapshots;
        assert_int_equal(
            sample((struct pair[]){noisy, noisy, noisy}, limits[i][0], &rounds, &s, &snapshots, &f),
            0);
        /* One more pair may have closed each. */
        assert_in_range(s.candidate.time.n, s.n_rounds * LEAST, limits[i][1] + s.n_rounds);
        assert_in_range(snapshots, s.n_rounds * SAMPLING_JUDGED_EARLY / ROUNDS_PLANNED,
                        s.n_rounds * SAMPLING_MAX_JUDGED / ROUNDS_PLANNED);
        rounds_free(&rounds);
    }
}

/* The guard sees the rounds together. */
static void hidden_work_is_seen(void **state)
{
    (void)state;
    const struct pair honest = {1, 0.001, 0, false},
                      hides = {2, 0.001, SAMPLING_GUARD_NS * 1.1, false};
    struct rounds rounds;
    struct sampling s;
    struct finding f;
    size_t snapshots;
    assert_int_equal(sample((struct pair[]){hides, hides, hides}, 30, &rounds, &s, &snapshots, &f),
                     0);
    assert_int_equal(s.verdict, KGRADE_SUSPECT);
    assert_string_equal(s.code, "clocks_disagree");
    assert_int_equal(s.n_rounds, ROUNDS_PLANNED);
    rounds_free(&rounds);
    /* In one process only nothing is gained, in two of three it is seen. */
    assert_int_equal(
        sample((struct pair[]){hides, honest, honest}, 30, &rounds, &s, &snapshots, &f), 0);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_about(s.speedup, 1);
    rounds_free(&rounds);
    assert_int_equal(sample((struct pair[]){hides, honest, hides}, 30, &rounds, &s, &snapshots, &f),
                     0);
    assert_int_equal(s.verdict, KGRADE_SUSPECT);
    rounds_free(&rounds);
}

static void a_round_that_fails_is_the_end(void **state)
{
    (void)state;
    const struct pair honest = {1, 0.001, 0, false}, dies = {1, 0.001, 0, true};
    struct rounds rounds;
    struct sampling s;
    struct finding f;
    size_t snapshots;
    assert_int_equal(sample((struct pair[]){honest, dies, honest}, 30, &rounds, &s, &snapshots, &f),
                     -1);
    assert_string_equal(f.reason.code, "replay_crashed");
    assert_int_equal(rounds.n, 1);
    rounds_free(&rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_rounds_that_agree_share_the_samples),
        cmocka_unit_test(processes_that_differ_widen_the_interval),
        cmocka_unit_test(two_rounds_together_are_precise),
        cmocka_unit_test(a_third_round_decides_between_two),
        cmocka_unit_test(what_agrees_with_both_counts_with_both),
        cmocka_unit_test(where_no_two_agree_there_is_no_result),
        cmocka_unit_test(noise_is_given_a_third_round),
        cmocka_unit_test(limits_hold_in_total),
        cmocka_unit_test(hidden_work_is_seen),
        cmocka_unit_test(a_round_that_fails_is_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
