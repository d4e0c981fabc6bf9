/* What the tests of the store share: a folder, jobs, and waiting for answers. */
#ifndef STORE_HELP_H
#define STORE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef fail /* cmocka's, which is not used here */
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fail.h"
#include "sandbox/base/io.h"
#include "server/store/internal.h"
#include "server/store/store.h"

#define GENEROUS_NS (60 * IO_NS_PER_S)
#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static char folder[64], path[80];

__attribute__((unused)) static int set_up_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kgrade-test-store-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/grades.db", folder);
    return 0;
}

__attribute__((unused)) static int tear_down_folder(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

static struct store *open_store(void)
{
    struct store *store = NULL;
    kgrade_error error = {0};
    if (store_open(path, &store, &error))
        print_error("%s: %s\n", error.code, error.message);
    assert_non_null(store);
    return store;
}

static void close_store(struct store *store)
{
    assert_int_equal(store_close(store, GENEROUS_NS), 0);
}

/* An answer of the writer. */
struct answer {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    unsigned times;
    char existing[STORE_ID_SIZE];
    kgrade_error error; /* code "": none */
};

#define ANSWER                                                                                     \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER                       \
    }

static void on_answer(void *data, const char *existing, const kgrade_error *err)
{
    struct answer *answer = data;
    pthread_mutex_lock(&answer->mutex);
    answer->times++;
    if (existing)
        snprintf(answer->existing, sizeof answer->existing, "%s", existing);
    if (err)
        answer->error = *err;
    pthread_cond_signal(&answer->came);
    pthread_mutex_unlock(&answer->mutex);
}

/* The code of the answer's error, "" for none, NULL when none came until a deadline that only a
 * hanging store misses. */
static const char *await(struct answer *answer)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    pthread_mutex_lock(&answer->mutex);
    int rc = 0;
    while (!answer->times && !rc)
        rc = pthread_cond_clockwait(&answer->came, &answer->mutex, CLOCK_MONOTONIC, &deadline);
    pthread_mutex_unlock(&answer->mutex);
    return answer->times ? answer->error.code : NULL;
}

__attribute__((unused)) static unsigned answers(struct answer *answer)
{
    pthread_mutex_lock(&answer->mutex);
    unsigned times = answer->times;
    pthread_mutex_unlock(&answer->mutex);
    return times;
}

/* A request that a test changes as it likes; the id is new. */
__attribute__((unused)) static struct store_request request(char id[STORE_ID_SIZE])
{
    store_new_id(id);
    return (struct store_request){.id = id,
                                  .task = "vector_add",
                                  .device = "opencl",
                                  .language = "c",
                                  .source = "int x;",
                                  .source_size = 6,
                                  .source_hash = HASH_A,
                                  .owner = "alice",
                                  .request_hash = HASH_B,
                                  .created_ms = io_unix_ms()};
}

__attribute__((unused)) static void add(struct store *store, const struct store_request *r)
{
    struct answer answer = ANSWER;
    store_add(store, r, on_answer, &answer);
    assert_string_equal(await(&answer), "");
}

__attribute__((unused)) static struct store_end accepted(double score)
{
    return (struct store_end){.verdict = "accepted",
                              .code = "",
                              .score = score,
                              .score_low = score - 0.01,
                              .score_high = score + 0.01,
                              .task_hash = HASH_C,
                              .result = "{\"score\": 1}"};
}

__attribute__((unused)) static void finish(struct store *store, const char *id,
                                           const struct store_end *end)
{
    struct answer answer = ANSWER;
    store_finish(store, id, end, on_answer, &answer);
    assert_string_equal(await(&answer), "");
}

__attribute__((unused)) static bool works(struct store *store)
{
    struct store_health health;
    store_health(store, &health);
    return health.works;
}

/* Waits for what must happen; only a store that hangs misses the deadline. */
__attribute__((unused)) static void await_health(struct store *store, bool wanted)
{
    uint64_t deadline = io_now() + GENEROUS_NS;
    while (works(store) != wanted && io_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(works(store), wanted);
}

/* What kgraded would say of the file after its end. */
__attribute__((unused)) static void assert_sound(void)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

#endif
