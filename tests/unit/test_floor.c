/* The floors of two processes, with replays that follow a script instead of a clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "grader/judge/judge.h"
#include "grader/measure/floor.h"

#define TICK_NS 32.0
#define SLOW_CLOCK_NS 500.0 /* while a card wakes up everything takes longer */

static struct {
    struct replay candidate, baseline;
    double candidate_ns, baseline_ns; /* the true ones */
    unsigned void_one_in;             /* of all; 0: none */
    unsigned slow;                    /* so many at first run on a slow clock */
    double switch_ns; /* the first after the other's, whatever the process; 0: its own */
    unsigned dies_at;
} script;

static unsigned runs, candidates;
static const struct replay *last; /* that was asked */

int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding)
{
    assert_true(empty);
    unsigned n = runs++;
    candidates += replay == &script.candidate;
    if (script.dies_at && runs == script.dies_at)
        return finding_set(finding, KGRADE_RUNTIME_ERROR, "replay_crashed", NULL, "Dead.");
    double ns = replay == &script.candidate ? script.candidate_ns : script.baseline_ns;
    ns += n < script.slow ? SLOW_CLOCK_NS : 0;
    if (replay != last && script.switch_ns > 0)
        ns = script.switch_ns;
    last = replay;
    /* What a clock that ticks shows: the phase moves on evenly. */
    double phase = (double)((replay == &script.candidate ? candidates : n - candidates) * 7 % 32);
    *ret = (struct replay_time){.ns = (double)(int)((ns + phase) / TICK_NS) * TICK_NS,
                                .is_void = script.void_one_in && n % script.void_one_in == 0};
    return 0;
}

/* Not made here. */
int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding)
{
    (void)replay, (void)seed, (void)poison, (void)cold, (void)finding;
    return -1;
}

int judge_snapshot(struct judge_client *judge, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *finding)
{
    (void)judge, (void)task, (void)c, (void)seed, (void)poison, (void)ret_id, (void)finding;
    return -1;
}

static int difference(double *ret, struct finding *f)
{
    runs = candidates = 0;
    *f = (struct finding){.log = NULL};
    return floor_difference(&script.candidate, &script.baseline, TICK_NS, ret, f);
}

static void assert_near(double value, double expected)
{
    assert_true(value > expected - 8 && value < expected + 8);
}

static void differences_are_finer_than_a_tick(void **state)
{
    (void)state;
    double d;
    struct finding f;
    for (int apart = -70; apart <= 70; apart += 5) {
        memset(&script, 0, sizeof script);
        script.baseline_ns = 650;
        script.candidate_ns = 650 + apart;
        assert_int_equal(difference(&d, &f), 0);
        assert_near(d, apart);
        assert_int_equal(runs, 2 * FLOOR_SAMPLES);
        assert_int_equal(candidates, FLOOR_SAMPLES);
    }
}

/* Both are asked by turns. */
static void a_clock_that_speeds_up_moves_both(void **state)
{
    (void)state;
    double d;
    struct finding f;
    memset(&script, 0, sizeof script);
    script.baseline_ns = 640;
    script.candidate_ns = 672;
    script.slow = 42;
    assert_int_equal(difference(&d, &f), 0);
    assert_near(d, 32);
}

static void what_a_change_of_process_costs_is_left_out(void **state)
{
    (void)state;
    double d;
    struct finding f;
    memset(&script, 0, sizeof script);
    script.baseline_ns = 640;
    script.candidate_ns = 697;
    script.switch_ns = 1000;
    assert_int_equal(difference(&d, &f), 0);
    assert_near(d, 57);
}

static void void_samples_are_taken_again(void **state)
{
    (void)state;
    double d, floor;
    struct finding f;
    struct dither dither = DITHER_BASELINE;
    memset(&script, 0, sizeof script);
    script.baseline_ns = 640;
    script.candidate_ns = 690;
    script.void_one_in = 2;
    assert_int_equal(difference(&d, &f), 0);
    assert_near(d, 50);
    assert_in_range(runs, 4 * FLOOR_SAMPLES - 2, 4 * FLOOR_SAMPLES);
    runs = 0;
    assert_int_equal(floor_take(&script.baseline, &dither, TICK_NS, &floor, &f), 0);
    assert_near(floor, 640 + TICK_NS / 2); /* a sample's dither is subtracted with it */
    assert_in_range(runs, 2 * FLOOR_SAMPLES - 1, 2 * FLOOR_SAMPLES);
}

static void all_void_is_no_floor(void **state)
{
    (void)state;
    double floor;
    struct finding f = {.log = NULL};
    struct dither dither = DITHER_BASELINE;
    memset(&script, 0, sizeof script);
    script.void_one_in = 1;
    runs = 0;
    assert_int_equal(floor_take(&script.baseline, &dither, TICK_NS, &floor, &f), -1);
    assert_int_equal(f.verdict, KGRADE_INFRASTRUCTURE_ERROR);
    assert_string_equal(f.reason.code, "floor_failed");
    assert_int_equal(runs, FLOOR_TRIES);
    finding_free(&f);
    assert_int_equal(difference(&floor, &f), -1);
    assert_string_equal(f.reason.code, "floor_failed");
    finding_free(&f);
}

/* There is no code of a candidate in either process. */
static void a_process_that_dies_is_nobodys_fault(void **state)
{
    (void)state;
    double d;
    struct finding f;
    for (unsigned at = 1; at <= 2; at++) {
        memset(&script, 0, sizeof script);
        script.dies_at = at;
        assert_int_equal(difference(&d, &f), -1);
        assert_int_equal(f.verdict, KGRADE_INFRASTRUCTURE_ERROR);
        finding_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_finer_than_a_tick),
        cmocka_unit_test(a_clock_that_speeds_up_moves_both),
        cmocka_unit_test(what_a_change_of_process_costs_is_left_out),
        cmocka_unit_test(void_samples_are_taken_again),
        cmocka_unit_test(all_void_is_no_floor),
        cmocka_unit_test(a_process_that_dies_is_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
