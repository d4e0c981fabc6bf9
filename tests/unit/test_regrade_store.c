/* The store of a regrade: what is taken in, chosen, handed out, kept. */
#define _GNU_SOURCE
#include "regrade_help.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"

static struct regrade_counts counts_of(struct regrade_store *store)
{
    struct regrade_counts n;
    kgrade_error err = {0};
    must(regrade_store_counts(store, &n, &err), &err);
    return n;
}

/* Hands the next candidate out and keeps a result; false when there is none. */
static bool grade_next(struct regrade_store *store, const char *verdict, const char *recording)
{
    struct regrade_job job = {0};
    kgrade_error err = {0};
    int rc = regrade_store_next(store, &job, &err);
    if (rc == 1)
        return false;
    must(rc, &err);
    must(regrade_store_finish(store, &job, result(verdict, 1.25), recording, &err), &err);
    regrade_job_free(&job);
    return true;
}

static void begin(struct regrade_store *store, enum regrade_round round)
{
    kgrade_error err = {0};
    must(regrade_store_begin(store, round, &err), &err);
}

/* --- Reading ------------------------------------------------------------------------------------ */

struct seen {
    char text[4096];
};

static int see(void *data, const struct regrade_row *row, kgrade_error *err)
{
    (void)err;
    static const char *const states[] = {"skipped", "left", "planned", "graded"};
    struct seen *seen = data;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s %s %s %s%s%.3f%s;", row->entry.id,
             states[row->state], row->verdict ? row->verdict : "-",
             row->reason_code ? row->reason_code : "", row->reason_code ? " " : "", row->score,
             row->from_recording ? " again" : "");
    return 0;
}

static void assert_rows(const struct regrade_store *store, const char *expected)
{
    struct seen seen = {""};
    kgrade_error err = {0};
    must(regrade_store_each(store, true, see, &seen, &err), &err);
    assert_string_equal(seen.text, expected);
}

static int see_figures(void *data, const struct regrade_row *row, kgrade_error *err)
{
    (void)err;
    int *n = data;
    const struct regrade_original *o = &row->entry.original;
    if (!strcmp(row->entry.id, "full")) {
        assert_true(o->value == 0.25);
        assert_string_equal(o->unit, "s");
        assert_string_equal(o->rule, "geom");
        assert_true(o->lower_is_better);
        assert_int_equal(o->rank, 7);
        assert_int_equal(o->passed, REGRADE_FAILED);
        assert_int_equal(json_array_size(o->cases), 1);
        assert_string_equal(json_string_value(json_object_get(o->row, "user")), "mallory");
        assert_string_equal(row->entry.hardware, "H100");
        assert_string_equal(row->entry.note, "changed");
        assert_int_equal(row->entry.source_size, 4);
        assert_int_equal(strlen(row->source_hash), 64);
    } else {
        assert_true(isnan(o->value));
        assert_null(o->unit);
        assert_null(o->row);
        assert_int_equal(o->passed, REGRADE_PASS_UNSAID);
        assert_string_equal(row->entry.skip_code, "needs_python");
        assert_null(row->source_hash);
        assert_int_equal(row->candidate, 0);
    }
    ++*n;
    return 0;
}

static int see_notes(void *data, const struct regrade_source_row *row, kgrade_error *err)
{
    (void)err;
    char *text = data;
    cleanup_free char *notes = json_dumps(row->notes, 0);
    snprintf(text, 512, "%s", notes);
    return 0;
}

static void test_figures_are_kept(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    json_t *cases = json_pack("[{s:s, s:f}]", "id", "n=1", "time_ns", 12.0);
    json_t *row = json_pack("{s:s}", "user", "mallory");
    struct regrade_entry entries[] = {entry("full", "text"),
                                      {.id = "bare",
                                       .board = "board",
                                       .problem = "problem",
                                       .skip_code = "needs_python",
                                       .skip_message = "Python.",
                                       .original = {.value = NAN}}};
    entries[0].original =
        (struct regrade_original){0.25, "s", "geom", true, 7, REGRADE_FAILED, cases, row};
    entries[0].hardware = "H100";
    entries[0].note = "changed";
    /* A board that is mended before anything of it was graded is read as if it were new. */
    const struct regrade_entry mistaken[] = {entry("full", "text"), entry("typo", "other")};
    take_in(store, mistaken, 2);
    take_in(store, entries, 2);
    char notes[512];
    kgrade_error err = {0};
    must(regrade_store_sources(store, see_notes, notes, &err), &err);
    assert_string_equal(notes, "[]");
    begin(store, REGRADE_FIRST);
    assert_true(grade_next(store, "accepted", NULL));
    assert_false(grade_next(store, "accepted", NULL));
    take_in(store, entries, 2);
    must(regrade_store_sources(store, see_notes, notes, &err), &err);
    assert_string_equal(notes, "[]");
    /* What a second reading says of the figures does not matter, but is not passed over in silence. */
    entries[0].original = (struct regrade_original){.value = 9, .unit = "ms"};
    take_in(store, entries, 1);
    must(regrade_store_sources(store, see_notes, notes, &err), &err);
    assert_non_null(strstr(notes, "not in the source any more: 1."));
    assert_non_null(strstr(notes, "when they were first read: 1."));
    int n = 0;
    must(regrade_store_each(store, false, see_figures, &n, &err), &err);
    assert_int_equal(n, 2);
    regrade_store_close(store);
    json_decref(cases);
    json_decref(row);
}

/* --- Candidates and rounds ---------------------------------------------------------------------- */

static void test_equal_sources_are_graded_once(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    struct regrade_entry entries[] = {entry("a", "one"), entry("b", "two"), entry("c", "one"),
                                      entry("d", "one")};
    entries[3].task = "softmax";
    take_in(store, entries, 4);
    begin(store, REGRADE_FIRST);
    assert_int_equal(counts_of(store).candidates, 3);
    assert_true(grade_next(store, "accepted", NULL));
    const char *half =
        "a graded accepted 1.250;b planned - nan;c graded accepted 1.250;d planned - nan;";
    assert_rows(store, half);
    /* A file that is gone takes no result away, but what has none cannot be graded any more. */
    entries[0].source = entries[1].source = NULL;
    entries[0].skip_code = entries[1].skip_code = "no_source";
    take_in(store, entries, 1);
    assert_rows(store, half);
    take_in(store, entries + 1, 1);
    assert_rows(store,
                "a graded accepted 1.250;b skipped - nan;c graded accepted 1.250;d planned - nan;");
    entries[1] = entry("b", "two");
    take_in(store, entries + 1, 1);
    begin(store, REGRADE_FIRST);
    assert_int_equal(counts_of(store).graded, 2);
    assert_int_equal(counts_of(store).to_do, 2);
    assert_true(grade_next(store, "wrong_answer", NULL));
    assert_true(grade_next(store, "refused", NULL));
    assert_false(grade_next(store, "refused", NULL));
    begin(store, REGRADE_FIRST);
    assert_int_equal(counts_of(store).to_do, 0);
    assert_int_equal(counts_of(store).candidates, 3);
    regrade_store_close(store);
}

static void test_retry(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    struct regrade_entry entries[] = {entry("a", "one"), entry("b", "two")};
    take_in(store, entries, 2);
    begin(store, REGRADE_FIRST);
    grade_next(store, "infrastructure_error", NULL);
    grade_next(store, "unresolved", NULL);
    begin(store, REGRADE_FIRST);
    assert_false(grade_next(store, "accepted", NULL));
    begin(store, REGRADE_AGAIN);
    assert_int_equal(counts_of(store).to_do, 1);
    assert_true(grade_next(store, "infrastructure_error", NULL));
    assert_false(grade_next(store, "accepted", NULL)); /* once in a round */
    assert_rows(store, "a graded infrastructure_error why 1.250;b graded unresolved why 1.250;");
    begin(store, REGRADE_AGAIN);
    assert_true(grade_next(store, "accepted", NULL));
    assert_rows(store, "a graded accepted 1.250;b graded unresolved why 1.250;");
    begin(store, REGRADE_UNRESOLVED);
    assert_int_equal(counts_of(store).to_do, 1);
    assert_true(grade_next(store, "wrong_answer", NULL));
    assert_rows(store, "a graded accepted 1.250;b graded wrong_answer why 1.250;");
    regrade_store_close(store);
}

static void keep_recording(const char *hash)
{
    char path[256];
    snprintf(path, sizeof path, "%s/recordings/%s.kgr", folder, hash);
    assert_int_equal(io_write_file(path, "x", 1, NULL), 0);
}

static void test_rounds_of_recordings(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    struct regrade_entry entries[] = {entry("a", "one"), entry("b", "two"), entry("c", "three"),
                                      entry("d", "four")};
    take_in(store, entries, 4);
    keep_recording("aa");
    keep_recording("bb");
    begin(store, REGRADE_FIRST);
    grade_next(store, "accepted", "aa");
    grade_next(store, "accepted", "bb");
    grade_next(store, "build_failed", NULL);
    grade_next(store, "accepted", "lost");

    begin(store, REGRADE_RECORDINGS);
    assert_int_equal(counts_of(store).to_do, 2);
    assert_int_equal(counts_of(store).unkept, 2); /* c has none, d's is gone */
    assert_true(grade_next(store, "wrong_answer", NULL));
    regrade_store_close(store);

    /* Interrupted: the same round goes on. */
    store = open_store();
    begin(store, REGRADE_RECORDINGS);
    assert_int_equal(counts_of(store).to_do, 1);
    assert_int_equal(counts_of(store).candidates, 2);
    struct regrade_job job = {0};
    kgrade_error err = {0};
    must(regrade_store_next(store, &job, &err), &err);
    assert_string_equal(job.recording_hash, "bb");
    assert_null(job.source);
    must(regrade_store_finish(store, &job, result("unresolved", 0), NULL, &err), &err);
    regrade_job_free(&job);
    assert_rows(store, "a graded wrong_answer why 1.250 again;b graded accepted 1.250;"
                       "c graded build_failed why 1.250;d graded accepted 1.250;");

    /* Over: the next one is a new one, in which a recording that is no good changes nothing. */
    begin(store, REGRADE_RECORDINGS);
    assert_int_equal(counts_of(store).to_do, 2);
    must(regrade_store_next(store, &job, &err), &err);
    must(regrade_store_refuse(store, &job, &(kgrade_error){.code = "bad"}, &err), &err);
    regrade_job_free(&job);
    assert_int_equal(counts_of(store).to_do, 1);
    assert_int_equal(counts_of(store).skipped, 0);
    assert_true(grade_next(store, "unresolved", NULL));
    begin(store, REGRADE_RECORDINGS);
    assert_int_equal(counts_of(store).to_do, 2);
    regrade_store_close(store);
}

static void test_choosing(void **state)
{
    (void)state;
    enum { N = 100 };
    struct regrade_store *store = open_store();
    struct regrade_entry entries[N];
    char ids[N][16];
    kgrade_error err = {0};
    for (int i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "%s/%d", i % 2 ? "odd" : "even", i);
        entries[i] = entry(ids[i], ids[i]);
    }
    take_in(store, entries, N);
    must(regrade_store_choose(store, NULL, 10, &err), &err);
    assert_int_equal(counts_of(store).chosen, 10);
    assert_int_equal(counts_of(store).left_out, N - 10);
    struct seen before = {""}, after = {""};
    regrade_store_each(store, false, see, &before, &err);
    must(regrade_store_choose(store, "odd/*", 0, &err), &err);
    assert_int_equal(counts_of(store).chosen, N / 2);
    must(regrade_store_choose(store, "author", 0, &err), &err);
    assert_int_equal(counts_of(store).chosen, N);
    must(regrade_store_choose(store, "[", 0, &err), &err);
    assert_int_equal(counts_of(store).chosen, 0);
    must(regrade_store_choose(store, NULL, 10, &err), &err);
    regrade_store_each(store, false, see, &after, &err);
    assert_string_equal(before.text, after.text);
    regrade_store_close(store);
}

static void test_refused(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    struct regrade_entry entries[] = {entry("a", "one"), entry("b", "one")};
    const kgrade_error why = {.code = "source_too_large", .message = "Too large."};
    struct regrade_job job = {0};
    kgrade_error err = {0};
    take_in(store, entries, 2);
    begin(store, REGRADE_FIRST);
    must(regrade_store_next(store, &job, &err), &err);
    must(regrade_store_refuse(store, &job, &why, &err), &err);
    regrade_job_free(&job);
    assert_int_equal(counts_of(store).skipped, 2);
    assert_int_equal(counts_of(store).to_do, 0);
    regrade_store_close(store);
}

/* --- Errors ------------------------------------------------------------------------------------- */

static void assert_bad(struct regrade_store *store, const struct regrade_entry *bad,
                       const char *code)
{
    kgrade_error err = {0};
    const struct regrade_source source = {.title = "title"};
    must(regrade_store_begin_source(store, "folder", "/bad", &source, &err), &err);
    const struct regrade_entry good = entry("good", "one");
    must(regrade_store_add(store, &good, &err), &err);
    assert_int_equal(regrade_store_add(store, bad, &err), -1);
    assert_string_equal(err.code, code);
    must(regrade_store_end_source(store, false, &err), &err);
    assert_int_equal(counts_of(store).entries, 0); /* all or nothing */
}

static void test_bad_entries(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    char long_id[REGRADE_MAX_ID + 2];
    memset(long_id, 'x', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = 0;
    struct regrade_entry twice = entry("good", "two"), empty = entry("", "one"),
                         larger = entry(long_id, "one"), nothing = entry("x", "one");
    nothing.device = NULL;
    assert_bad(store, &twice, "bad_board");
    assert_bad(store, &empty, "bad_board");
    assert_bad(store, &larger, "bad_board");
    assert_bad(store, &nothing, "bad_board");
    long_id[REGRADE_MAX_ID] = 0;
    take_in(store, &larger, 1);
    assert_int_equal(counts_of(store).entries, 1);
    regrade_store_close(store);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct regrade_store *store = open_store(), *second = NULL, *reader = NULL;
    kgrade_error err = {0};
    assert_int_equal(regrade_store_open(folder, &second, &err), -1);
    assert_string_equal(err.code, "regrade_busy");
    must(regrade_store_open_reader(folder, &reader, &err), &err);
    assert_rows(reader, "");
    regrade_store_close(reader);
    regrade_store_close(store);
}

static void test_what_is_no_store(void **state)
{
    (void)state;
    struct regrade_store *store = NULL;
    kgrade_error err = {0};
    char path[128];
    assert_int_equal(regrade_store_open_reader(folder, &store, &err), -1);
    assert_string_equal(err.code, "no_regrade");
    snprintf(path, sizeof path, "%s/" REGRADE_DATABASE, folder);
    assert_int_equal(io_write_file(path, "no database, but long enough for one", 36, NULL), 0);
    assert_int_equal(regrade_store_open(folder, &store, &err), -1);
    assert_string_equal(err.code, "store_damaged");
    assert_int_equal(regrade_store_open_reader(folder, &store, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

static void test_answers_that_are_no_results(void **state)
{
    (void)state;
    struct regrade_store *store = open_store();
    struct regrade_entry one = entry("a", "one");
    struct regrade_job job = {0};
    kgrade_error err = {0};
    take_in(store, &one, 1);
    begin(store, REGRADE_FIRST);
    must(regrade_store_next(store, &job, &err), &err);
    static const char *const answers[] = {"", "null", "{}", "{\"verdict\": 3}", "<html>"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_int_equal(regrade_store_finish(store, &job, answers[i], NULL, &err), -1);
        assert_string_equal(err.code, "bad_answer");
    }
    regrade_job_free(&job);
    begin(store, REGRADE_FIRST);
    assert_int_equal(counts_of(store).to_do, 1);
    regrade_store_close(store);
}

/* --- kill -9 ------------------------------------------------------------------------------------ */

enum { CANDIDATES = 150, KILLS = 6 };

/* Grades until killed, telling each result that is kept by its candidate's number. */
static void grade_until_killed(int confirmations)
{
    struct regrade_store *store = NULL;
    struct regrade_job job = {0};
    if (regrade_store_open(folder, &store, NULL) || regrade_store_begin(store, REGRADE_FIRST, NULL))
        _exit(1);
    while (!regrade_store_next(store, &job, NULL)) {
        if (regrade_store_finish(store, &job, result("accepted", 1), NULL, NULL))
            _exit(2);
        if (write(confirmations, &job.candidate, sizeof job.candidate) != sizeof job.candidate)
            _exit(3);
        regrade_job_free(&job);
    }
    _exit(0);
}

/* Runs a child and kills it once it has confirmed so many; returns how often a candidate was confirmed again. */
static unsigned run_and_kill(unsigned after, unsigned char confirmed[CANDIDATES + 1])
{
    int ends[2];
    unsigned again = 0, n = 0;
    int64_t number;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        grade_until_killed(ends[1]);
    }
    close(ends[1]);
    while (read(ends[0], &number, sizeof number) == sizeof number) {
        assert_in_range(number, 1, CANDIDATES);
        again += confirmed[number];
        confirmed[number] = 1;
        if (++n == after)
            kill(pid, SIGKILL);
    }
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return again;
}

static void test_kill(void **state)
{
    (void)state;
    static struct regrade_entry entries[CANDIDATES];
    static char ids[CANDIDATES][16];
    unsigned char confirmed[CANDIDATES + 1] = {0};
    for (int i = 0; i < CANDIDATES; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        entries[i] = entry(ids[i], ids[i]);
    }
    struct regrade_store *store = open_store();
    take_in(store, entries, CANDIDATES);
    regrade_store_close(store);
    /* What was confirmed is never graded again; what was not may be lost or not. */
    for (unsigned i = 0; i < KILLS; i++)
        assert_int_equal(run_and_kill(3 + 5 * i, confirmed), 0);
    assert_int_equal(run_and_kill(0, confirmed), 0);
    store = open_store();
    begin(store, REGRADE_FIRST);
    assert_int_equal(counts_of(store).graded, CANDIDATES);
    assert_int_equal(counts_of(store).to_do, 0);
    regrade_store_close(store);
}

/* The id under which a candidate is sent is the same until there is a result, and another one after it. */
static void test_ids_of_grades(void **state)
{
    (void)state;
    struct regrade_entry entries[] = {entry("a", "one"), entry("b", "two")};
    struct regrade_store *store = open_store();
    struct regrade_job first = {0}, second = {0}, again = {0};
    kgrade_error err = {0};
    take_in(store, entries, 2);
    begin(store, REGRADE_FIRST);
    must(regrade_store_next(store, &first, &err), &err);
    must(regrade_store_next(store, &second, &err), &err);
    assert_int_equal(strlen(first.grade_id), KGRADE_ID_DIGITS);
    assert_string_not_equal(first.grade_id, second.grade_id);
    regrade_store_close(store);
    store = open_store();
    begin(store, REGRADE_FIRST);
    must(regrade_store_next(store, &again, &err), &err);
    assert_string_equal(again.grade_id, first.grade_id);
    must(regrade_store_finish(store, &again, result("infrastructure_error", 0), NULL, &err), &err);
    regrade_job_free(&again);
    begin(store, REGRADE_AGAIN);
    must(regrade_store_next(store, &again, &err), &err);
    assert_string_not_equal(again.grade_id, first.grade_id);
    /* A server would answer with the grade that was cancelled there. */
    const kgrade_error why = {.code = "grade_cancelled", .message = "Cancelled."};
    must(regrade_store_refuse(store, &second, &why, &err), &err);
    take_in(store, entries, 2);
    begin(store, REGRADE_FIRST);
    regrade_job_free(&again);
    must(regrade_store_next(store, &again, &err), &err);
    assert_int_equal(again.candidate, second.candidate);
    assert_string_not_equal(again.grade_id, second.grade_id);
    regrade_job_free(&first);
    regrade_job_free(&second);
    regrade_job_free(&again);
    regrade_store_close(store);
}

/* What takes long to build comes evenly among the rest; else the order is that of the board. */
static void test_slow_builds_are_spread(void **state)
{
    (void)state;
    static const char *const names[] = {"slow 0",  "slow 1",  "quick 0", "quick 1",
                                        "quick 2", "quick 3", "quick 4", "quick 5"};
    static const char *const expected[] = {"quick 0", "slow 0", "quick 1", "quick 2",
                                           "quick 3", "slow 1", "quick 4", "quick 5"};
    enum { N = sizeof names / sizeof names[0] };
    char texts[N][64];
    struct regrade_entry entries[N];
    struct regrade_store *store = open_store();
    kgrade_error err = {0};
    for (size_t i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[0], "%s%s", names[i],
                 names[i][0] == 's' ? " from torch.utils.cpp_extension" : "");
        entries[i] = entry(names[i], texts[i]);
    }
    take_in(store, entries, N);
    begin(store, REGRADE_FIRST);
    for (size_t i = 0; i < N; i++) {
        struct regrade_job job = {0};
        must(regrade_store_next(store, &job, &err), &err);
        assert_string_equal(job.name, expected[i]);
        regrade_job_free(&job);
    }
    regrade_store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_figures_are_kept),
        TEST(test_equal_sources_are_graded_once),
        TEST(test_retry),
        TEST(test_rounds_of_recordings),
        TEST(test_slow_builds_are_spread),
        TEST(test_choosing),
        TEST(test_refused),
        TEST(test_bad_entries),
        TEST(test_one_at_a_time),
        TEST(test_what_is_no_store),
        TEST(test_answers_that_are_no_results),
        TEST(test_kill),
        TEST(test_ids_of_grades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
