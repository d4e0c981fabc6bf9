/* Working through a round: threads, faults, stopping; and the line that tells how far it is. */
#define _GNU_SOURCE
#include "regrade_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "grader/cli/progress.h"
#include "grader/regrade/run.h"
#undef fail /* cmocka's; fail_msg is used */
#include "sandbox/base/fail.h"

enum { N = 40 };

static struct {
    atomic_uint calls;
    atomic_uint stop_after; /* 0: never */
    const char *verdict;
    unsigned char graded[N + 1];
    unsigned told, last_done;
} site;

static enum regrade_grading grade(void *data, unsigned thread, const struct regrade_job *job,
                                  struct regrade_outcome *ret, kgrade_error *err)
{
    (void)data;
    assert_true(thread < 3);
    atomic_fetch_add(&site.calls, 1);
    if (!strcmp(job->source, "refuse me")) {
        fail_set(err, "source_too_large", NULL, "Too large.");
        return REGRADE_GRADING_REFUSED;
    }
    if (!strcmp(job->source, "end")) {
        fail_set(err, "server_unreachable", NULL, "Gone.");
        return REGRADE_GRADING_ENDED;
    }
    char text[256];
    snprintf(text, sizeof text,
             "{\"verdict\": \"%s\", \"score\": 1, \"steps\": {\"device_held_ms\": 2}}",
             site.verdict);
    ret->result = strdup(text);
    ret->recording.data = (uint8_t *)strdup(job->source);
    ret->recording.size = strlen(job->source);
    return REGRADE_GRADING_DONE;
}

static bool stop(void)
{
    return site.stop_after && atomic_load(&site.calls) >= site.stop_after;
}

static void tell(void *data, const struct regrade_told *told)
{
    (void)data;
    site.told++;
    site.graded[told->job->candidate]++;
    site.last_done = (unsigned)told->done;
    assert_int_equal(told->total, N);
}

static const struct regrade_run here = {3, grade, stop, tell, NULL};

static struct regrade_store *filled(const char *special)
{
    static struct regrade_entry entries[N];
    static char ids[N][16];
    site.calls = 0;
    site.stop_after = 0;
    site.verdict = "accepted";
    site.told = site.last_done = 0;
    memset(site.graded, 0, sizeof site.graded);
    for (int i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        entries[i] = entry(ids[i], i == N / 2 && special ? special : ids[i]);
    }
    struct regrade_store *store = open_store();
    take_in(store, entries, N);
    must(regrade_store_begin(store, REGRADE_FIRST, NULL), &(kgrade_error){0});
    return store;
}

static void test_all(void **state)
{
    (void)state;
    struct regrade_store *store = filled(NULL);
    struct regrade_summary summary;
    kgrade_error err = {0};
    must(regrade_run(store, &here, &summary, &err), &err);
    assert_int_equal(site.calls, N);
    assert_int_equal(site.told, N);
    assert_int_equal(site.last_done, N);
    for (int i = 1; i <= N; i++)
        assert_int_equal(site.graded[i], 1);
    assert_true(summary.complete);
    assert_int_equal(summary.done, N);
    assert_int_equal(summary.verdicts[KGRADE_ACCEPTED], N);
    assert_true(summary.held_ms == 2 * N);
    /* The recordings are there, and can be worked through. */
    must(regrade_store_begin(store, REGRADE_RECORDINGS, &err), &err);
    struct regrade_counts counts;
    must(regrade_store_counts(store, &counts, &err), &err);
    assert_int_equal(counts.to_do, N);
    regrade_store_close(store);
}

static void test_stopped(void **state)
{
    (void)state;
    struct regrade_store *store = filled(NULL);
    struct regrade_summary summary;
    kgrade_error err = {0};
    site.stop_after = 10;
    must(regrade_run(store, &here, &summary, &err), &err);
    assert_false(summary.complete);
    assert_in_range(summary.done, 10, 12); /* what was begun is ended */
    site.stop_after = 0;
    must(regrade_store_begin(store, REGRADE_FIRST, &err), &err);
    must(regrade_run(store, &here, &summary, &err), &err);
    assert_true(summary.complete);
    assert_int_equal(site.calls, N);
    assert_int_equal(site.last_done, N);
    regrade_store_close(store);
}

static void test_refused(void **state)
{
    (void)state;
    struct regrade_store *store = filled("refuse me");
    struct regrade_summary summary;
    kgrade_error err = {0};
    must(regrade_run(store, &here, &summary, &err), &err);
    assert_true(summary.complete);
    assert_int_equal(summary.refused, 1);
    assert_int_equal(summary.verdicts[KGRADE_ACCEPTED], N - 1);
    regrade_store_close(store);
}

/* One thread takes the candidates in their order; several keep what they had begun, however far each was. */
static void test_ended(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct regrade_store *store = filled("end");
        struct regrade_run run = here;
        struct regrade_summary summary;
        kgrade_error err = {0};
        run.threads = threads;
        assert_int_equal(regrade_run(store, &run, &summary, &err), -1);
        assert_string_equal(err.code, "server_unreachable");
        assert_false(summary.complete);
        if (threads == 1)
            assert_int_equal(summary.done, N / 2);
        assert_int_equal(summary.done, site.calls - 1);
        assert_int_equal(summary.verdicts[KGRADE_ACCEPTED], summary.done);
        regrade_store_close(store);
    }
}

static void test_too_many_faults(void **state)
{
    (void)state;
    struct regrade_store *store = filled(NULL);
    struct regrade_summary summary;
    kgrade_error err = {0};
    site.verdict = "infrastructure_error";
    assert_int_equal(regrade_run(store, &here, &summary, &err), -1);
    assert_string_equal(err.code, "too_many_faults");
    assert_in_range(summary.done, REGRADE_MAX_FAULTS, REGRADE_MAX_FAULTS + 2);
    assert_int_equal(summary.verdicts[KGRADE_INFRASTRUCTURE_ERROR], summary.done);
    regrade_store_close(store);
}

/* --- The line ----------------------------------------------------------------------------------- */

static void assert_line(struct progress_batch batch, unsigned columns, const char *expected)
{
    char line[PROGRESS_LINE];
    progress_batch_line(&batch, columns, line);
    assert_string_equal(line, expected);
}

static void test_line(void **state)
{
    (void)state;
    assert_line((struct progress_batch){0, 200, 0, 5, NULL}, 0, "[....................] 0 of 200");
    assert_line((struct progress_batch){50, 200, 0, 60, "a/b.cu"}, 0,
                "[#####...............] 50 of 200  50/min  3 min left  a/b.cu");
    /* What others did before tells nothing about the rate. */
    assert_line((struct progress_batch){50, 200, 40, 600, NULL}, 0,
                "[#####...............] 50 of 200  1.0/min  2.5 h left");
    assert_line((struct progress_batch){300, 200, 0, 60, NULL}, 0,
                "[####################] 200 of 200  200/min  0 s left");
    assert_line((struct progress_batch){1, 5000, 0, 300, "\033[2J\n\xc3\xa4"}, 0,
                "[....................] 1 of 5000  0.2/min  17.4 days left  ?[2J???");
    assert_line((struct progress_batch){50, 200, 0, 60, "a"}, 30, "[#####...............] 50 of 2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all),   TEST(test_stopped),         TEST(test_refused),
        TEST(test_ended), TEST(test_too_many_faults), cmocka_unit_test(test_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
