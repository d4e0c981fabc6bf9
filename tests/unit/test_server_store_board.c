/* The leaderboard. */
#define _GNU_SOURCE
#include "store_help.h"

/* Source hashes are told apart by their first letter. */
static const char *hash(char letter)
{
    static char hashes[26][STORE_HASH_SIZE];
    memset(hashes[letter - 'a'], letter, STORE_HASH_SIZE - 1);
    return hashes[letter - 'a'];
}

static struct {
    char id[STORE_ID_SIZE];
} last;

/* A grade of the task's content `content` ('0': not said). */
static void grade_as(struct store *store, const char *owner, char source, const char *verdict,
                     double score, double spread, char content)
{
    struct store_request r = request(last.id);
    r.owner = owner;
    r.source_hash = hash(source);
    add(store, &r);
    struct store_end end = accepted(score);
    end.verdict = verdict;
    end.score_low = score - spread;
    end.score_high = score + spread;
    end.task_hash = content == '0' ? "" : hash(content);
    finish(store, last.id, &end);
}

static void grade(struct store *store, const char *owner, char source, double score, double spread)
{
    grade_as(store, owner, source, "accepted", score, spread, 't');
}

static json_t *board(struct store *store, unsigned limit)
{
    json_t *json = store_leaderboard(store, "vector_add", "opencl", limit, NULL);
    assert_non_null(json);
    return json;
}

static const json_t *entry(const json_t *json, size_t i)
{
    const json_t *found = json_array_get(json_object_get(json, "entries"), i);
    assert_non_null(found);
    return found;
}

static const char *text(const json_t *e, const char *key)
{
    const char *value = json_string_value(json_object_get(e, key));
    return value ? value : "(null)";
}

static json_int_t integer(const json_t *e, const char *key)
{
    const json_t *value = json_object_get(e, key);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static double real(const json_t *e, const char *key)
{
    const json_t *value = json_object_get(e, key);
    return json_is_real(value) ? json_real_value(value) : NAN;
}

static void assert_entry(const json_t *json, size_t i, const char *owner, char source,
                         json_int_t rank, json_int_t tie)
{
    const json_t *e = entry(json, i);
    assert_string_equal(text(e, "owner"), owner);
    assert_int_equal(text(e, "source_hash")[0], source);
    assert_int_equal(integer(e, "rank"), rank);
    assert_int_equal(integer(e, "tie"), tie);
}

static void test_empty(void **state)
{
    (void)state;
    struct store *store = open_store();
    json_auto_t *json = board(store, 10);
    assert_string_equal(text(json, "task"), "vector_add");
    assert_string_equal(text(json, "device"), "opencl");
    assert_true(json_is_null(json_object_get(json, "task_hash")));
    assert_int_equal(integer(json, "total"), 0);
    assert_int_equal(json_array_size(json_object_get(json, "entries")), 0);
    /* What is not done is no grade. */
    struct store_request r = request(last.id);
    add(store, &r);
    store_begin(store, last.id);
    r = request(last.id);
    add(store, &r);
    struct answer answer = ANSWER;
    store_cancel(store, last.id, "cancelled", on_answer, &answer);
    assert_string_equal(await(&answer), "");
    json_auto_t *again = board(store, 10);
    assert_int_equal(integer(again, "total"), 0);
    close_store(store);
}

static void test_ranks_and_ties(void **state)
{
    (void)state;
    struct store *store = open_store();
    grade(store, "dora", 'd', 1.0, 0.1);
    grade(store, "carl", 'c', 2.0, 0.1);
    grade(store, "bob", 'b', 2.15, 0.1);
    grade(store, "anna", 'a', 2.3, 0.1);
    grade(store, "eric", 'e', 1.2, 0.05);
    json_auto_t *json = board(store, 10);
    assert_entry(json, 0, "anna", 'a', 1, 1);
    assert_entry(json, 1, "bob", 'b', 2, 1);  /* overlaps with anna */
    assert_entry(json, 2, "carl", 'c', 3, 1); /* with bob */
    assert_entry(json, 3, "eric", 'e', 4, 4);
    assert_entry(json, 4, "dora", 'd', 5, 5);
    const json_t *e = entry(json, 0);
    assert_true(real(e, "score") == 2.3 && real(e, "score_low") == 2.3 - 0.1 &&
                real(e, "score_high") == 2.3 + 0.1);
    assert_string_equal(text(json, "task_hash"), hash('t'));
    assert_int_equal(integer(json, "total"), 5);

    json_auto_t *top = board(store, 2);
    assert_int_equal(json_array_size(json_object_get(top, "entries")), 2);
    assert_int_equal(integer(top, "total"), 5);
    close_store(store);
}

static void test_unknown_intervals(void **state)
{
    (void)state;
    struct store *store = open_store();
    grade(store, "anna", 'a', 2.0, NAN);
    grade(store, "bob", 'b', 2.0, NAN);
    grade(store, "carl", 'c', 1.9, NAN);
    json_auto_t *json = board(store, 10);
    assert_entry(json, 0, "anna", 'a', 1, 1); /* was there first */
    assert_entry(json, 1, "bob", 'b', 2, 1);
    assert_entry(json, 2, "carl", 'c', 3, 3);
    assert_true(json_is_null(json_object_get(entry(json, 0), "score_low")));
    assert_true(json_is_null(json_object_get(entry(json, 0), "score_high")));
    close_store(store);
}

static void test_regrades(void **state)
{
    (void)state;
    struct store *store = open_store();
    char ids[4][STORE_ID_SIZE];
    static const double scores[] = {1.5, 1.1, 1.9, 1.3};
    for (int i = 0; i < 4; i++) {
        grade(store, "anna", 'a', scores[i], 0.01);
        memcpy(ids[i], last.id, sizeof last.id);
    }
    grade_as(store, "anna", 'a', "suspect", 0, 0, 't');
    grade_as(store, "anna", 'a', "infrastructure_error", 0, 0, '0');
    json_auto_t *json = board(store, 10);
    assert_int_equal(integer(json, "total"), 1);
    const json_t *e = entry(json, 0);
    assert_int_equal(integer(e, "grades"), 6);
    assert_true(real(e, "score") == 1.3); /* the lower of the two in the middle */
    assert_true(real(e, "score_low") == 1.3 - 0.01);
    assert_string_equal(text(e, "score_id"), ids[3]);
    assert_string_equal(text(e, "best_id"), ids[2]);
    assert_string_equal(text(e, "latest_id"), last.id);
    assert_int_equal(strlen(text(e, "latest_at")), strlen("2026-01-01T00:00:00.000Z"));
    const json_t *verdicts = json_object_get(e, "verdicts");
    assert_int_equal(json_object_size(verdicts), 3);
    assert_int_equal(integer(verdicts, "accepted"), 4);
    assert_int_equal(integer(verdicts, "suspect"), 1);
    assert_int_equal(integer(verdicts, "infrastructure_error"), 1);

    grade(store, "anna", 'a', 1.2, 0.01);
    json_auto_t *odd = board(store, 10);
    assert_true(real(entry(odd, 0), "score") == 1.3);
    close_store(store);
}

static void test_task_content(void **state)
{
    (void)state;
    struct store *store = open_store();
    grade_as(store, "anna", 'a', "accepted", 9, 0.1, 'o');
    grade_as(store, "bob", 'b', "accepted", 5, 0.1, 'o');
    grade_as(store, "bob", 'b', "accepted", 1, 0.1, 't');
    grade_as(store, "carl", 'c', "wrong_answer", 0, NAN, '0');
    json_auto_t *json = board(store, 10);
    assert_string_equal(text(json, "task_hash"), hash('t'));
    assert_entry(json, 0, "bob", 'b', 1, 1);
    assert_true(real(entry(json, 0), "score") == 1);
    assert_int_equal(integer(entry(json, 0), "grades"), 2);
    /* Unranked, those that were graded last first; with nothing left out. */
    assert_entry(json, 1, "carl", 'c', -1, -1);
    assert_entry(json, 2, "anna", 'a', -1, -1);
    static const char *const unknown[] = {"rank",       "tie",      "score",  "score_low",
                                          "score_high", "score_id", "best_id"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_true(json_is_null(json_object_get(entry(json, 2), unknown[i])));
    assert_int_equal(integer(json_object_get(entry(json, 2), "verdicts"), "accepted"), 1);
    assert_int_equal(json_object_size(entry(json, 0)), 14);
    close_store(store);
}

static void test_same_sources(void **state)
{
    (void)state;
    struct store *store = open_store();
    grade(store, "anna", 'a', 5, 0.1);
    grade(store, "anna", 'b', 4, 0.1);
    grade(store, "bob", 'b', 3, 0.1);
    grade(store, "bob", 'c', 2, 0.1);
    grade(store, "carl", 'a', 1, 0.1);
    grade_as(store, "dora", 'a', "suspect", 0, NAN, 't');
    json_auto_t *json = board(store, 10);
    static const json_int_t groups[] = {1, 2, 2, -1, 1, 1};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(integer(entry(json, i), "same_source"), groups[i]);
    assert_true(json_is_null(json_object_get(entry(json, 3), "same_source")));
    close_store(store);
}

static void test_other_tasks_and_devices(void **state)
{
    (void)state;
    struct store *store = open_store();
    grade(store, "anna", 'a', 5, 0.1);
    json_auto_t *other = store_leaderboard(store, "vector_add", "cuda", 10, NULL);
    assert_int_equal(integer(other, "total"), 0);
    json_auto_t *task = store_leaderboard(store, "matmul", "opencl", 10, NULL);
    assert_int_equal(integer(task, "total"), 0);
    close_store(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_empty),
        TEST(test_ranks_and_ties),
        TEST(test_regrades),
        TEST(test_unknown_intervals),
        TEST(test_task_content),
        TEST(test_same_sources),
        TEST(test_other_tasks_and_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
