/* The store as long as the disk does what it should. */
#define _GNU_SOURCE
#include "store_help.h"

#include <stdatomic.h>
#include <sys/syscall.h>

/* The wall clock of this program, moved by the tests. */
static _Atomic time_t clock_shift;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ret);
    if (clock == CLOCK_REALTIME)
        ret->tv_sec += clock_shift;
    return rc;
}

static struct store_row get(struct store *store, const char *id)
{
    struct store_row row;
    kgrade_error error;
    assert_int_equal(store_get(store, id, STORE_WITH_RESULT | STORE_WITH_SOURCE, &row, &error), 0);
    return row;
}

static void test_ids(void **state)
{
    (void)state;
    char a[STORE_ID_SIZE], b[STORE_ID_SIZE];
    store_new_id(a);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    long long ms = strtoll(
        (char[13]){a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], 0},
        NULL, 16);
    assert_in_range(io_unix_ms() - ms, 0, 60000);
    for (int i = 0; i < 1000; i++, memcpy(a, b, sizeof a)) {
        store_new_id(b);
        assert_string_not_equal(a, b);
        assert_true(strncmp(a, b, 12) <= 0);
    }
    clock_shift = -86400;
    store_new_id(b);
    clock_shift = 0;
    assert_true(strncmp(a, b, 12) <= 0);
}

static void test_a_life(void **state)
{
    (void)state;
    struct store *store = open_store();
    char id[STORE_ID_SIZE];
    struct store_request r = request(id);
    r.source = "a\0b\xff";
    r.source_size = 4;
    add(store, &r);

    struct store_row row = get(store, id);
    assert_string_equal(row.id, id);
    assert_string_equal(row.task, "vector_add");
    assert_string_equal(row.device, "opencl");
    assert_string_equal(row.language, "c");
    assert_string_equal(row.owner, "alice");
    assert_string_equal(row.source_hash, HASH_A);
    assert_string_equal(row.request_hash, HASH_B);
    assert_int_equal(row.state, STORE_QUEUED);
    assert_int_equal(row.created_ms, r.created_ms);
    assert_int_equal(row.started_ms, 0);
    assert_int_equal(row.ended_ms, 0);
    assert_int_equal(row.attempts, 0);
    assert_null(row.result);
    assert_int_equal(row.source_size, 4);
    assert_memory_equal(row.source, "a\0b\xff", 5);
    store_row_free(&row);

    store_begin(store, id);
    struct store_end end = accepted(1.5);
    finish(store, id, &end);
    row = get(store, id);
    assert_int_equal(row.state, STORE_DONE);
    assert_int_equal(row.attempts, 1);
    assert_true(row.started_ms >= row.created_ms && row.ended_ms >= row.started_ms);
    assert_string_equal(row.verdict, "accepted");
    assert_string_equal(row.code, "");
    assert_true(row.score == 1.5);
    assert_string_equal(row.result, end.result);
    store_row_free(&row);

    /* Neither asked for. */
    assert_int_equal(store_get(store, id, 0, &row, NULL), 0);
    assert_null(row.result);
    assert_null(row.source);
    assert_int_equal(store_get(store, "none", 0, &row, NULL), 1);

    struct store_health health;
    store_health(store, &health);
    assert_true(health.works);
    assert_in_range(health.writes, 2, 3);
    assert_int_equal(health.pending, 0);
    assert_true(health.mean_write_s > 0 && health.max_write_s >= health.mean_write_s);
    close_store(store);
    assert_sound();
}

static void test_ends_are_written_once(void **state)
{
    (void)state;
    struct store *store = open_store();
    char id[STORE_ID_SIZE], other[STORE_ID_SIZE];
    struct store_request r = request(id);
    add(store, &r);
    struct store_end end = accepted(1.5), again = accepted(9);
    again.result = "{}";
    finish(store, id, &end); /* without a begin */
    finish(store, id, &again);
    struct answer answer = ANSWER;
    store_cancel(store, id, "cancelled", on_answer, &answer);
    assert_string_equal(await(&answer), "");
    store_begin(store, id);

    r = request(other);
    add(store, &r);
    struct answer second = ANSWER;
    store_cancel(store, other, "deadline_exceeded", on_answer, &second);
    assert_string_equal(await(&second), "");
    finish(store, other, &end);

    struct store_row row = get(store, id);
    assert_int_equal(row.state, STORE_DONE);
    assert_int_equal(row.attempts, 0);
    assert_true(row.score == 1.5);
    assert_string_equal(row.result, end.result);
    store_row_free(&row);
    row = get(store, other);
    assert_int_equal(row.state, STORE_CANCELLED);
    assert_string_equal(row.code, "deadline_exceeded");
    assert_string_equal(row.verdict, "");
    assert_null(row.result);
    assert_true(row.ended_ms > 0);
    store_row_free(&row);
    close_store(store);
}

static void test_keys(void **state)
{
    (void)state;
    struct store *store = open_store();
    char id[STORE_ID_SIZE], other[STORE_ID_SIZE];
    struct store_request r = request(id);
    r.idempotency_key = "k\xe9y";
    add(store, &r);

    r = request(other);
    r.idempotency_key = "k\xe9y";
    struct answer answer = ANSWER;
    store_add(store, &r, on_answer, &answer);
    assert_string_equal(await(&answer), "idempotency_key_used");
    assert_string_equal(answer.existing, id);
    assert_int_equal(store_get(store, other, 0, &(struct store_row){0}, NULL), 1);

    /* Of another owner. */
    r.owner = "bob";
    add(store, &r);
    struct store_row row;
    assert_int_equal(store_find_key(store, "alice", "k\xe9y", &row, NULL), 0);
    assert_string_equal(row.id, id);
    assert_int_equal(store_find_key(store, "bob", "k\xe9y", &row, NULL), 0);
    assert_string_equal(row.id, other);
    assert_int_equal(store_find_key(store, "bob", "key", &row, NULL), 1);

    /* The same id again. */
    r.idempotency_key = NULL;
    struct answer third = ANSWER;
    store_add(store, &r, on_answer, &third);
    assert_string_equal(await(&third), "id_used");
    close_store(store);
}

/* Both of one group: the second must see the first. */
static void test_key_within_a_group(void **state)
{
    (void)state;
    struct store *store = open_store();
    struct answer all[40];
    char ids[40][STORE_ID_SIZE];
    unsigned added = 0;
    const char *first = NULL;
    for (int i = 0; i < 40; i++) {
        all[i] = (struct answer)ANSWER;
        struct store_request r = request(ids[i]);
        r.idempotency_key = "the same";
        store_add(store, &r, on_answer, &all[i]);
    }
    for (int i = 0; i < 40; i++)
        if (!*await(&all[i])) {
            added++;
            first = ids[i];
        }
    assert_int_equal(added, 1);
    for (int i = 0; i < 40; i++)
        if (*all[i].error.code)
            assert_string_equal(all[i].existing, first);
    close_store(store);
}

static void assert_refused(struct store *store, const struct store_request *r, const char *code)
{
    struct answer answer = ANSWER;
    store_add(store, r, on_answer, &answer);
    assert_string_equal(await(&answer), code);
    assert_int_equal(store_get(store, r->id, 0, &(struct store_row){0}, NULL), 1);
}

static void test_limits(void **state)
{
    (void)state;
    struct store *store = open_store();
    char id[STORE_ID_SIZE], text[STORE_MAX_KEY + 2];
    memset(text, 'x', sizeof text);
    struct store_request good = request(id), r;
    struct {
        const char **name;
        size_t most;
    } const fields[] = {{&r.task, 63},
                        {&r.device, 63},
                        {&r.language, 63},
                        {&r.owner, 63},
                        {&r.source_hash, 64},
                        {&r.request_hash, 64},
                        {&r.idempotency_key, STORE_MAX_KEY}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        r = good;
        r.id = id;
        store_new_id(id);
        *fields[i].name = text;
        text[fields[i].most + 1] = 0;
        assert_refused(store, &r, "too_long");
        text[fields[i].most] = 0;
        add(store, &r);
        memset(text, 'x', sizeof text);
    }

    r = good;
    r.id = "0123456789abcdef";
    assert_refused(store, &r, "invalid_id");
    r.id = "0123456789ABCDEF0123456789ABCDEF";
    assert_refused(store, &r, "invalid_id");

    r = good;
    store_new_id(id);
    r.source_size = (size_t)STORE_MAX_TEXT + 1;
    cleanup_free char *huge = malloc(r.source_size + 1);
    memset(huge, 'x', r.source_size);
    huge[r.source_size] = 0;
    r.source = huge;
    assert_refused(store, &r, "too_long");
    r.source_size--;
    add(store, &r);
    struct store_end end = accepted(1);
    end.result = huge;
    struct answer answer = ANSWER;
    store_finish(store, id, &end, on_answer, &answer);
    assert_string_equal(await(&answer), "too_long");
    huge[STORE_MAX_TEXT] = 0;
    finish(store, id, &end);
    close_store(store);
}

static bool collect(void *data, const struct store_row *row)
{
    char(*ids)[STORE_ID_SIZE] = data;
    while ((*ids)[0])
        ids++;
    strcpy(*ids, row->id);
    return strcmp(row->owner, "last") != 0;
}

static void test_running_jobs_are_queued_again(void **state)
{
    (void)state;
    struct store *store = open_store();
    char ids[5][STORE_ID_SIZE];
    for (int i = 0; i < 5; i++) {
        struct store_request r = request(ids[i]);
        if (i == 3)
            r.owner = "last";
        add(store, &r);
    }
    store_begin(store, ids[1]);
    struct store_end end = accepted(1);
    finish(store, ids[0], &end);

    char found[6][STORE_ID_SIZE] = {{0}};
    assert_int_equal(store_queued(store, collect, found, NULL), 0);
    assert_string_equal(found[0], ids[2]);
    assert_string_equal(found[1], ids[3]);
    assert_string_equal(found[2], ""); /* told to stop */
    close_store(store);

    store = open_store();
    memset(found, 0, sizeof found);
    assert_int_equal(store_queued(store, collect, found, NULL), 0);
    assert_string_equal(found[0], ids[1]);
    assert_string_equal(found[1], ids[2]);
    assert_string_equal(found[2], ids[3]);
    struct store_row row = get(store, ids[1]);
    assert_int_equal(row.state, STORE_QUEUED);
    assert_int_equal(row.started_ms, 0);
    assert_int_equal(row.attempts, 1);
    store_row_free(&row);
    close_store(store);
}

static void test_same_grades_are_found(void **state)
{
    (void)state;
    struct store *store = open_store();
    static const char *const verdicts[] = {"accepted", "wrong_answer", "unresolved", "suspect",
                                           "infrastructure_error"};
    char ids[5][STORE_ID_SIZE];
    for (int i = 0; i < 5; i++) {
        struct store_request r = request(ids[i]);
        add(store, &r);
        struct store_end end = accepted(0);
        end.verdict = verdicts[i];
        finish(store, ids[i], &end);
    }
    struct store_row row;
    assert_int_equal(store_find_same(store, "alice", "vector_add", HASH_C, "opencl", "c", HASH_A,
                                     false, &row, NULL),
                     0);
    assert_string_equal(row.id, ids[1]);
    assert_non_null(row.result);
    store_row_free(&row);
    static const char *const others[][6] = {
        {"bob", "vector_add", HASH_C, "opencl", "c", HASH_A},
        {"alice", "matmul", HASH_C, "opencl", "c", HASH_A},
        {"alice", "vector_add", HASH_B, "opencl", "c", HASH_A},
        {"alice", "vector_add", HASH_C, "cuda", "c", HASH_A},
        {"alice", "vector_add", HASH_C, "opencl", "c++", HASH_A},
        {"alice", "vector_add", HASH_C, "opencl", "c", HASH_B},
    };
    for (int i = 0; i < 6; i++) {
        const char *const *o = others[i];
        assert_int_equal(
            store_find_same(store, o[0], o[1], o[2], o[3], o[4], o[5], false, &row, NULL), 1);
    }

    /* One with a profile does where none is wanted, too. */
    const char *const *mine = others[0] + 1;
    assert_int_equal(store_find_same(store, "alice", mine[0], mine[1], mine[2], mine[3], mine[4],
                                     true, &row, NULL),
                     1);
    char profiled[STORE_ID_SIZE];
    struct store_request r = request(profiled);
    r.profile = true;
    add(store, &r);
    struct store_end end = accepted(0);
    finish(store, profiled, &end);
    for (int wanted = 0; wanted < 2; wanted++) {
        assert_int_equal(store_find_same(store, "alice", mine[0], mine[1], mine[2], mine[3],
                                         mine[4], wanted, &row, NULL),
                         0);
        assert_string_equal(row.id, profiled);
        assert_true(row.profile);
        store_row_free(&row);
    }
    close_store(store);
}

static const char *id_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "id"));
}

static void test_lists(void **state)
{
    (void)state;
    struct store *store = open_store();
    char ids[6][STORE_ID_SIZE];
    for (int i = 0; i < 6; i++) {
        struct store_request r = request(ids[i]);
        r.owner = i % 2 ? "bob" : "alice";
        r.created_ms = 1700000000123;
        add(store, &r);
    }
    struct store_end end = accepted(2.5);
    finish(store, ids[4], &end);

    json_auto_t *all = store_list(store, NULL, NULL, 100, NULL);
    assert_int_equal(json_array_size(all), 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(id_at(all, i), ids[5 - i]);

    json_auto_t *hers = store_list(store, "alice", NULL, 2, NULL);
    assert_int_equal(json_array_size(hers), 2);
    assert_string_equal(id_at(hers, 0), ids[4]);
    assert_string_equal(id_at(hers, 1), ids[2]);
    const json_t *done = json_array_get(hers, 0), *queued = json_array_get(hers, 1);
    assert_string_equal(json_string_value(json_object_get(done, "state")), "done");
    assert_string_equal(json_string_value(json_object_get(done, "verdict")), "accepted");
    assert_true(json_real_value(json_object_get(done, "score")) == 2.5);
    assert_string_equal(json_string_value(json_object_get(done, "created_at")),
                        "2023-11-14T22:13:20.123Z");
    assert_true(json_is_string(json_object_get(done, "ended_at")));
    assert_string_equal(json_string_value(json_object_get(queued, "state")), "queued");
    static const char *const unknown[] = {"verdict", "code", "score", "ended_at"};
    for (int i = 0; i < 4; i++)
        assert_true(json_is_null(json_object_get(queued, unknown[i])));
    assert_int_equal(json_object_size(queued), 11);

    json_auto_t *rest = store_list(store, "alice", ids[2], 100, NULL);
    assert_int_equal(json_array_size(rest), 1);
    assert_string_equal(id_at(rest, 0), ids[0]);
    json_auto_t *older = store_list(store, NULL, ids[1], 100, NULL);
    assert_int_equal(json_array_size(older), 1);

    /* Nobody learns from it which ids others have. */
    kgrade_error error;
    assert_null(store_list(store, "alice", ids[1], 100, &error));
    assert_string_equal(error.code, "unknown_grade");
    assert_null(store_list(store, NULL, "none", 100, &error));
    close_store(store);
}

static void add_many(struct store *store)
{
    static struct answer all[STORE_MAX_LIST + 5];
    char id[STORE_ID_SIZE];
    for (size_t i = 0; i < STORE_MAX_LIST + 5; i++) {
        all[i] = (struct answer)ANSWER;
        struct store_request r = request(id);
        store_add(store, &r, on_answer, &all[i]);
    }
    for (size_t i = 0; i < STORE_MAX_LIST + 5; i++)
        assert_string_equal(await(&all[i]), "");
}

static void test_list_limit(void **state)
{
    (void)state;
    struct store *store = open_store();
    add_many(store);
    json_auto_t *list = store_list(store, NULL, NULL, UINT32_MAX, NULL);
    assert_int_equal(json_array_size(list), STORE_MAX_LIST);
    close_store(store);
}

/* Unless this thread is held up after each. */
static void test_many_share_one_transaction(void **state)
{
    (void)state;
    struct store *store = open_store();
    struct store_health before, after;
    bool shared = false;
    for (int i = 0; i < 10 && !shared; i++) {
        store_health(store, &before);
        add_many(store);
        store_health(store, &after);
        shared = after.writes - before.writes <= (STORE_MAX_LIST + 5) / 2;
    }
    assert_true(shared);
    close_store(store);
}

static void test_clock_set_back(void **state)
{
    (void)state;
    struct store *store = open_store();
    char ids[3][STORE_ID_SIZE];
    for (int i = 0; i < 3; i++) {
        clock_shift = -86400 * i;
        struct store_request r = request(ids[i]);
        add(store, &r);
    }
    store_begin(store, ids[0]);
    clock_shift = -86400 * 9;
    struct store_end end = accepted(1);
    finish(store, ids[0], &end);
    struct store_row row = get(store, ids[0]);
    assert_true(row.started_ms >= row.created_ms && row.ended_ms >= row.started_ms);
    store_row_free(&row);
    json_auto_t *list = store_list(store, NULL, NULL, 10, NULL);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(id_at(list, i), ids[2 - i]);
    char found[6][STORE_ID_SIZE] = {{0}};
    assert_int_equal(store_queued(store, collect, found, NULL), 0);
    assert_string_equal(found[0], ids[1]);
    assert_string_equal(found[1], ids[2]);
    clock_shift = 0;
    close_store(store);
}

/* Many threads, each with jobs of its own, while others read. */
enum { THREADS = 8, JOBS_EACH = 25 };

static void *worker(void *data)
{
    struct store *store = data;
    char text[64];
    for (int i = 0; i < JOBS_EACH; i++) {
        char id[STORE_ID_SIZE];
        struct store_request r = request(id);
        struct store_end end = accepted(i);
        struct store_row row;
        kgrade_error error;
        struct answer answer = ANSWER, ended = ANSWER;
        snprintf(text, sizeof text, "{\"of\": \"%s\"}", id);
        end.result = text;
        store_add(store, &r, on_answer, &answer);
        if (!await(&answer) || answer.error.code[0])
            return "add";
        store_begin(store, id);
        store_finish(store, id, &end, on_answer, &ended);
        if (!await(&ended) || ended.error.code[0])
            return "finish";
        if (store_get(store, id, STORE_WITH_RESULT, &row, &error) || row.state != STORE_DONE ||
            strcmp(row.result, text) != 0)
            return "get";
        store_row_free(&row);
        json_auto_t *list = store_list(store, NULL, NULL, 5, &error);
        json_auto_t *board = store_leaderboard(store, "vector_add", "opencl", 5, &error);
        struct store_health health;
        store_health(store, &health);
        if (json_array_size(list) < 1 || !board || !health.works)
            return "read";
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct store *store = open_store();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, worker, store), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed)
            print_error("%s\n", (char *)failed);
        assert_null(failed);
    }
    json_auto_t *list = store_list(store, NULL, NULL, 1000, NULL);
    assert_int_equal(json_array_size(list), THREADS * JOBS_EACH);
    close_store(store);
    assert_sound();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_ids),
        TEST(test_a_life),
        TEST(test_ends_are_written_once),
        TEST(test_keys),
        TEST(test_key_within_a_group),
        TEST(test_limits),
        TEST(test_running_jobs_are_queued_again),
        TEST(test_same_grades_are_found),
        TEST(test_lists),
        TEST(test_list_limit),
        TEST(test_many_share_one_transaction),
        TEST(test_clock_set_back),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
