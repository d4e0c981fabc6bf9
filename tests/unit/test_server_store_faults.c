/*
 * The store on a disk that fails: what was confirmed stays, adds are refused with the cause, ends of
 * grades are kept and written when the cause is gone.  Faults of the disk are made by a VFS between
 * SQLite and the real one.
 */
#define _GNU_SOURCE
#include "store_help.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- A disk that fails on demand ---------------------------------------------------------------- */

static struct {
    atomic_int write_code, write_errno, sync_code, sync_errno;
    atomic_bool hang;
} fault;

/* The methods of a kind of file, with ours in front. */
struct methods {
    sqlite3_io_methods ours; /* comes first */
    const sqlite3_io_methods *real;
};

static sqlite3_vfs *real_vfs, faulty_vfs;

static const sqlite3_io_methods *real_methods(sqlite3_file *file)
{
    return ((const struct methods *)(const void *)file->pMethods)->real;
}

static int faulty_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    if (fault.write_code) {
        errno = fault.write_errno;
        return fault.write_code;
    }
    return real_methods(file)->xWrite(file, data, size, offset);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    while (fault.hang)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (fault.sync_code) {
        errno = fault.sync_errno;
        return fault.sync_code;
    }
    return real_methods(file)->xSync(file, flags);
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                       int *ret_flags)
{
    (void)vfs;
    static struct methods kinds[8];
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int rc = real_vfs->xOpen(real_vfs, name, file, flags, ret_flags);
    if (rc != SQLITE_OK || !file->pMethods)
        return rc;
    pthread_mutex_lock(&mutex);
    struct methods *kind = kinds;
    while (kind->real && kind->real != file->pMethods)
        kind++;
    if (!kind->real) {
        kind->ours = *file->pMethods;
        kind->ours.xWrite = faulty_write;
        kind->ours.xSync = faulty_sync;
        kind->real = file->pMethods;
    }
    file->pMethods = &kind->ours;
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int install_faults(void **state)
{
    (void)state;
    real_vfs = sqlite3_vfs_find(NULL);
    faulty_vfs = *real_vfs;
    faulty_vfs.zName = "faulty";
    faulty_vfs.xOpen = faulty_open;
    return sqlite3_vfs_register(&faulty_vfs, 1);
}

static void set_fault(int write_code, int write_errno, int sync_code, int sync_errno)
{
    fault.write_errno = write_errno;
    fault.sync_errno = sync_errno;
    fault.write_code = write_code;
    fault.sync_code = sync_code;
}

/* --- A monotonic clock that jumps --------------------------------------------------------------- */

static _Atomic time_t monotonic_shift;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ret);
    if (clock == CLOCK_MONOTONIC)
        ret->tv_sec += monotonic_shift;
    return rc;
}

/* --- What every fault must look like ------------------------------------------------------------ */

static enum store_state state_of(struct store *store, const char *id)
{
    struct store_row row;
    kgrade_error error;
    int status = store_get(store, id, 0, &row, &error);
    assert_int_equal(status, 0);
    return row.state;
}

struct life {
    char id[STORE_ID_SIZE], refused[STORE_ID_SIZE];
    struct answer ended;
};

/* While the cause is there: a job that runs ends, another is asked for. */
static void check_broken(struct store *store, struct life *life, const char *cause)
{
    struct store_end end = accepted(1.5);
    struct store_request r = request(life->refused);
    struct answer first = ANSWER, second = ANSWER;
    life->ended = (struct answer)ANSWER;
    store_add(store, &r, on_answer, &first);
    assert_string_equal(await(&first), "store_unavailable");
    if (!strstr(first.error.message, cause))
        print_error("%s\n", first.error.message);
    assert_non_null(strstr(first.error.message, cause));
    assert_true(first.error.hint[0]);

    store_finish(store, life->id, &end, on_answer, &life->ended);
    store_add(store, &r, on_answer, &second);
    assert_string_equal(await(&second), "store_unavailable");
    struct store_health health;
    store_health(store, &health);
    assert_false(health.works);
    assert_int_equal(health.pending, 1);
    assert_string_equal(health.error.code, "store_unavailable");
    assert_non_null(strstr(health.error.message, cause));
    assert_int_equal(answers(&life->ended), 0);
    assert_true(state_of(store, life->id) != STORE_DONE);
}

/* When it is gone, without a restart. */
static void check_mended(struct store *store, struct life *life)
{
    assert_string_equal(await(&life->ended), "");
    assert_int_equal(life->ended.times, 1);
    assert_int_equal(state_of(store, life->id), STORE_DONE);
    await_health(store, true);
    assert_int_equal(store_get(store, life->refused, 0, &(struct store_row){0}, NULL), 1);
    char id[STORE_ID_SIZE];
    struct store_request r = request(id);
    add(store, &r);
}

static void begin_life(struct store *store, struct life *life)
{
    struct store_request r = request(life->id);
    add(store, &r);
    store_begin(store, life->id);
    uint64_t deadline = io_now() + GENEROUS_NS;
    while (state_of(store, life->id) != STORE_RUNNING && io_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(state_of(store, life->id), STORE_RUNNING);
}

static void test_failing_disk(void **state)
{
    (void)state;
    static const struct {
        int write_code, write_errno, sync_code, sync_errno;
        const char *cause;
    } faults[] = {
        {SQLITE_FULL, ENOSPC, 0, 0, "full"},
        {SQLITE_IOERR_WRITE, EROFS, 0, 0, "Read-only file system"},
        {SQLITE_IOERR_WRITE, EDQUOT, 0, 0, "quota"},
        {SQLITE_READONLY, 0, 0, 0, "readonly"},
        {0, 0, SQLITE_IOERR_FSYNC, EIO, "Input/output error"},
    };
    struct store *store = open_store();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct life life;
        begin_life(store, &life);
        set_fault(faults[i].write_code, faults[i].write_errno, faults[i].sync_code,
                  faults[i].sync_errno);
        check_broken(store, &life, faults[i].cause);
        set_fault(0, 0, 0, 0);
        check_mended(store, &life);
    }
    close_store(store);
    assert_sound();
}

/* Many ends wait, in order, and none of the jobs that were refused is there afterwards. */
static void test_many_ends_are_kept(void **state)
{
    (void)state;
    enum { N = 50 };
    struct store *store = open_store();
    static char ids[N][STORE_ID_SIZE];
    static struct answer finished[N], cancelled[N], refused[N];
    for (int i = 0; i < N; i++) {
        struct store_request r = request(ids[i]);
        add(store, &r);
    }
    set_fault(SQLITE_FULL, ENOSPC, 0, 0);
    for (int i = 0; i < N; i++) {
        char id[STORE_ID_SIZE];
        struct store_request r = request(id);
        struct store_end end = accepted(i);
        finished[i] = cancelled[i] = refused[i] = (struct answer)ANSWER;
        store_begin(store, ids[i]);
        store_add(store, &r, on_answer, &refused[i]);
        if (i % 2)
            store_cancel(store, ids[i], "cancelled", on_answer, &cancelled[i]);
        store_finish(store, ids[i], &end, on_answer, &finished[i]);
    }
    for (int i = 0; i < N; i++)
        assert_string_equal(await(&refused[i]), "store_unavailable");
    set_fault(0, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        assert_string_equal(await(&finished[i]), "");
        assert_int_equal(state_of(store, ids[i]), i % 2 ? STORE_CANCELLED : STORE_DONE);
        if (i % 2)
            assert_string_equal(await(&cancelled[i]), "");
    }
    json_auto_t *list = store_list(store, NULL, NULL, 1000, NULL);
    assert_int_equal(json_array_size(list), N);
    close_store(store);
}

static void test_locked_by_another_program(void **state)
{
    (void)state;
    struct store *store = open_store();
    struct life life;
    begin_life(store, &life);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    check_broken(store, &life, "locked");
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    check_mended(store, &life);
    sqlite3_close(other);
    close_store(store);
}

/* A lock that is given up soon is waited for.  When this thread was held up for longer than that, it
 * tries again. */
static void test_locked_for_a_moment(void **state)
{
    (void)state;
    struct store *store = open_store();
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    const char *code = NULL;
    for (int i = 0; i < 10 && (!code || *code); i++) {
        char id[STORE_ID_SIZE];
        struct store_request r = request(id);
        struct answer answer = ANSWER;
        await_health(store, true);
        assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        store_add(store, &r, on_answer, &answer);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        code = *await(&answer) ? "store_unavailable" : "";
    }
    assert_string_equal(code, "");
    sqlite3_close(other);
    close_store(store);
}

static void move_away(const char *end, bool back)
{
    char here[100], there[110];
    snprintf(here, sizeof here, "%s%s", path, end);
    snprintf(there, sizeof there, "%s.moved", here);
    assert_int_equal(back ? rename(there, here) : rename(here, there), 0);
}

static void test_moved_away(void **state)
{
    (void)state;
    static const char *const ends[] = {"", "-wal"};
    struct store *store = open_store();
    for (int i = 0; i < 2; i++) {
        struct life life;
        begin_life(store, &life);
        move_away(ends[i], false);
        assert_false(works(store)); /* at once, before anybody writes */
        check_broken(store, &life, "not there any more");
        move_away(ends[i], true);
        check_mended(store, &life);
    }
    /* Another file in its place is not written to. */
    struct life life;
    begin_life(store, &life);
    move_away("", false);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fclose(file);
    check_broken(store, &life, "Another file");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
    move_away("", true);
    check_mended(store, &life);
    close_store(store);
    assert_sound();
}

static void test_trial_writes(void **state)
{
    (void)state;
    struct store *store = open_store();
    struct store_health before, after;
    store_health(store, &before);
    store_health(store, &after);
    assert_true(before.works && after.works);
    assert_int_equal(after.writes, before.writes);

    set_fault(SQLITE_FULL, ENOSPC, 0, 0);
    monotonic_shift = 6;
    store_health(store, &after); /* as if nothing had been written for 6 s */
    monotonic_shift = 0;
    await_health(store, false);
    set_fault(0, 0, 0, 0);
    await_health(store, true);
    close_store(store);
}

static void test_close_while_broken(void **state)
{
    (void)state;
    struct store *store = open_store();
    struct life life, other;
    begin_life(store, &life);
    begin_life(store, &other);
    set_fault(SQLITE_FULL, ENOSPC, 0, 0);
    check_broken(store, &life, "full");
    struct store_end end = accepted(1);
    store_finish(store, other.id, &end, NULL, NULL);
    assert_int_equal(store_close(store, IO_NS_PER_MS), 2);
    assert_string_equal(await(&life.ended), "store_unavailable");

    /* Nothing is lost but the work: it is to be done again. */
    set_fault(0, 0, 0, 0);
    store = open_store();
    assert_int_equal(state_of(store, life.id), STORE_QUEUED);
    assert_int_equal(state_of(store, other.id), STORE_QUEUED);

    /* With time enough it is written. */
    begin_life(store, &life);
    set_fault(SQLITE_FULL, ENOSPC, 0, 0);
    check_broken(store, &life, "full");
    set_fault(0, 0, 0, 0);
    close_store(store);
    assert_string_equal(await(&life.ended), "");
}

/* The stores of a disk that hangs are left behind; the pointers, which nothing reads, keep them from being called leaks. */
static struct store *volatile hanging[2];

/* Waits, so that the folder is not removed under its feet. */
static void await_end(struct store *store)
{
    uint64_t deadline = io_now() + GENEROUS_NS;
    bool ended = false;
    while (!ended && io_now() < deadline) {
        pthread_mutex_lock(&store->mutex);
        ended = store->has_ended;
        pthread_mutex_unlock(&store->mutex);
    }
    assert_true(ended);
}

static void await_write(struct store *store)
{
    uint64_t deadline = io_now() + GENEROUS_NS;
    bool begun = false;
    while (!begun && io_now() < deadline) {
        pthread_mutex_lock(&store->mutex);
        begun = store->in_flight > 0;
        pthread_mutex_unlock(&store->mutex);
    }
    assert_true(begun);
}

static void test_close_while_the_disk_hangs(void **state)
{
    (void)state;
    struct store *store = hanging[0] = open_store();
    struct life life;
    begin_life(store, &life);
    life.ended = (struct answer)ANSWER;
    fault.hang = true;
    struct store_end end = accepted(1);
    store_finish(store, life.id, &end, on_answer, &life.ended);
    await_write(store);
    assert_int_equal(store_close(store, IO_NS_PER_MS), 1);
    assert_int_equal(answers(&life.ended), 0);
    fault.hang = false;
    assert_string_equal(await(&life.ended), "");
    await_end(store);
}

/* What waits is given up, and then the disk hangs while the database is closed. */
static void test_disk_hangs_at_the_end(void **state)
{
    (void)state;
    struct store *store = hanging[1] = open_store();
    struct life life;
    begin_life(store, &life);
    set_fault(SQLITE_FULL, ENOSPC, 0, 0);
    check_broken(store, &life, "full");
    set_fault(0, 0, 0, 0);
    fault.hang = true;
    assert_int_equal(store_close(store, 0), 1);
    fault.hang = false;
    assert_string_equal(await(&life.ended), "store_unavailable");
    await_end(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_failing_disk),
        TEST(test_many_ends_are_kept),
        TEST(test_locked_by_another_program),
        TEST(test_locked_for_a_moment),
        TEST(test_moved_away),
        TEST(test_trial_writes),
        TEST(test_close_while_broken),
        TEST(test_close_while_the_disk_hangs),
        TEST(test_disk_hangs_at_the_end),
    };
    return cmocka_run_group_tests(tests, install_faults, NULL);
}
