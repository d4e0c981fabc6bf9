/* The guard by batches, with replays that follow a script instead of a clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "grader/measure/batch.h"

#define CALL_NS 10000.0
#define AROUND_NS 50000.0   /* what goes with each replay, with the call and without */
#define REQUEST_NS 200000.0 /* that asking for a batch costs */

static struct script {
    double hidden_ns;   /* of a call, that its stamps do not show */
    unsigned late;      /* of the first so many batches with the call the machine makes late ... */
    double late_ns;     /* ... by so much */
    bool none;          /* the device has no batches */
    unsigned fewer_for; /* the n-th batch has one replay less than was asked for; 0: none */
} script;

static struct seen {
    unsigned batches, calls, judged;
    size_t least, most;
    uint64_t seed, poison, judged_seed, judged_poison;
} seen;

int replay_batch(struct replay *replay, size_t n, uint64_t seed, uint64_t poison, bool empty,
                 size_t *ret_n, double *ret_wall_ns, struct finding *finding)
{
    (void)replay, (void)finding;
    *ret_n = script.none ? 0 : n;
    *ret_wall_ns = 0;
    if (script.none)
        return 0;
    seen.batches++;
    if (seen.batches == script.fewer_for)
        --*ret_n;
    seen.least = !seen.least || n < seen.least ? n : seen.least;
    seen.most = n > seen.most ? n : seen.most;
    *ret_wall_ns = REQUEST_NS + (double)n * AROUND_NS;
    if (empty)
        return 0;
    seen.seed = seed;
    seen.poison = poison;
    *ret_wall_ns += (double)n * (CALL_NS + script.hidden_ns);
    if (seen.calls++ < script.late)
        *ret_wall_ns += script.late_ns;
    return 0;
}

/* Samples are not taken here. */
int replay_prepare(struct replay *replay, uint64_t seed, uint64_t poison, bool cold,
                   struct finding *finding)
{
    (void)replay, (void)seed, (void)poison, (void)cold, (void)finding;
    return -1;
}

int replay_run(struct replay *replay, bool empty, struct replay_time *ret, struct finding *finding)
{
    (void)replay, (void)empty, (void)ret, (void)finding;
    return -1;
}

int judge_snapshot(struct judge_client *judge, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *finding)
{
    (void)judge, (void)task, (void)c, (void)finding;
    seen.judged++;
    seen.judged_seed = seed;
    seen.judged_poison = poison;
    *ret_id = 7;
    return 0;
}

static void check(const struct script *how, double call_ns, struct sampling *ret)
{
    struct finding f = {.log = NULL};
    const struct sampling_request request = {.candidate = NULL};
    script = *how;
    seen = (struct seen){0};
    *ret = (struct sampling){.verdict = KGRADE_ACCEPTED,
                             .candidate = {.time = {.median = call_ns}},
                             .n_snapshots = SAMPLING_MAX_JUDGED};
    assert_int_equal(batch_check(&request, ret, &f), 0);
}

static void agreement_stands_and_its_last_output_is_judged(void **state)
{
    (void)state;
    struct sampling s;
    check(&(struct script){.hidden_ns = 0}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(seen.batches, 2);
    assert_true(s.batch_ns > CALL_NS - 1 && s.batch_ns < CALL_NS + 1);
    assert_in_range(s.batch_replays, BATCH_MIN_REPLAYS, BATCH_MAX_REPLAYS);
    assert_int_equal(seen.judged, 1);
    assert_int_equal(seen.judged_seed, seen.seed);
    assert_int_equal(seen.judged_poison, seen.poison);
    assert_int_equal(s.n_snapshots, SAMPLING_MAX_JUDGED + 1);
    assert_int_equal(s.snapshots[SAMPLING_MAX_JUDGED], 7);
}

static void hidden_time_is_suspect(void **state)
{
    (void)state;
    struct sampling s;
    check(&(struct script){.hidden_ns = BATCH_RELATIVE * CALL_NS + BATCH_NS + 10}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_SUSPECT);
    assert_string_equal(s.code, "clocks_disagree");
    assert_non_null(strstr(s.message, "10000 ns"));
    assert_non_null(strstr(s.message, "17510 ns"));
    assert_int_equal(seen.calls, BATCH_TRIES);
    assert_int_equal(seen.judged, 1);
}

static void what_is_allowed_stands(void **state)
{
    (void)state;
    struct sampling s;
    check(&(struct script){.hidden_ns = BATCH_RELATIVE * CALL_NS + BATCH_NS - 10}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    check(&(struct script){.hidden_ns = -CALL_NS / 2}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
}

static void a_busy_machine_accuses_nobody(void **state)
{
    (void)state;
    struct sampling s;
    check(&(struct script){.late = BATCH_TRIES - 1, .late_ns = 5e6}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(seen.calls, BATCH_TRIES);
    assert_int_equal(seen.judged, 1);
    assert_int_equal(seen.judged_seed, seen.seed);
}

static void an_earlier_doubt_stays(void **state)
{
    (void)state;
    struct sampling s = {.verdict = KGRADE_ACCEPTED};
    struct finding f = {.log = NULL};
    const struct sampling_request request = {.candidate = NULL};
    script = (struct script){.hidden_ns = 1e6};
    seen = (struct seen){0};
    sampling_doubt(&s, KGRADE_UNRESOLVED, "too_noisy", "%s", "noise");
    assert_int_equal(batch_check(&request, &s, &f), 0);
    assert_string_equal(s.code, "too_noisy");
}

static void a_long_call_is_made_less_often(void **state)
{
    (void)state;
    struct sampling s;
    for (unsigned i = 0; i < 100; i++) {
        check(&(struct script){.hidden_ns = 0}, BATCH_LONG_NS + 1, &s);
        assert_in_range(seen.least, BATCH_MIN_REPLAYS / 2, BATCH_MAX_REPLAYS / 2);
        assert_in_range(seen.most, BATCH_MIN_REPLAYS / 2, BATCH_MAX_REPLAYS / 2);
        check(&(struct script){.hidden_ns = 0}, CALL_NS, &s);
        assert_in_range(seen.least, BATCH_MIN_REPLAYS, BATCH_MAX_REPLAYS);
        assert_int_equal(seen.least, seen.most);
    }
    check(&(struct script){.hidden_ns = 0}, BATCH_MAX_NS / 3, &s);
    assert_in_range(seen.most, 1, 3);
    check(&(struct script){.hidden_ns = 0}, 5 * BATCH_MAX_NS, &s);
    assert_int_equal(seen.most, 1);
    /* A call that is no longer than the floor. */
    check(&(struct script){.hidden_ns = 0}, -100, &s);
    assert_in_range(seen.least, BATCH_MIN_REPLAYS, BATCH_MAX_REPLAYS);
}

static void without_batches_nothing_is_said(void **state)
{
    (void)state;
    struct sampling s;
    check(&(struct script){.none = true}, CALL_NS, &s);
    assert_int_equal(s.verdict, KGRADE_ACCEPTED);
    assert_int_equal(s.batch_replays, 0);
    assert_int_equal(seen.judged, 0);
    assert_int_equal(s.n_snapshots, SAMPLING_MAX_JUDGED);
    check(&(struct script){.fewer_for = 2}, CALL_NS, &s);
    assert_int_equal(s.batch_replays, 0);
    assert_int_equal(seen.judged, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement_stands_and_its_last_output_is_judged),
        cmocka_unit_test(hidden_time_is_suspect),
        cmocka_unit_test(what_is_allowed_stands),
        cmocka_unit_test(a_busy_machine_accuses_nobody),
        cmocka_unit_test(an_earlier_doubt_stays),
        cmocka_unit_test(a_long_call_is_made_less_often),
        cmocka_unit_test(without_batches_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
