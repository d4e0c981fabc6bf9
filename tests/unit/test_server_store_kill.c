/*
 * kill -9 at any moment: a child adds jobs and ends them, and says on a pipe what was confirmed.  It
 * is killed, again and again, and what it said must be in the database each time.
 */
#define _GNU_SOURCE
#include "store_help.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "server/store/database.h"

enum { KILLS = 50, THREADS = 4, MOST_CONFIRMED = 100000 };

/* --- The child ---------------------------------------------------------------------------------- */

static int confirmations;
static char source[6000];

/* One write of less than PIPE_BUF: whole or not at all. */
static void confirm(const char *line)
{
    if (write(confirmations, line, strlen(line)) < 0)
        _exit(1);
}

struct step {
    struct answer answer;
    char line[64];
};

static void on_step(void *data, const char *existing, const kgrade_error *err)
{
    struct step *step = data;
    if (err)
        _exit(2);
    confirm(step->line);
    on_answer(&step->answer, existing, err);
}

static void *live(void *data)
{
    struct store *store = data;
    for (unsigned i = 0;; i++) {
        char id[STORE_ID_SIZE], result[64];
        struct store_request r = request(id);
        r.source = source;
        r.source_size = (i * 997) % sizeof source;
        r.idempotency_key = i % 3 ? NULL : id;
        struct step added = {ANSWER, ""}, ended = {ANSWER, ""};
        snprintf(added.line, sizeof added.line, "A %s\n", id);
        store_add(store, &r, on_step, &added);
        if (!await(&added.answer))
            _exit(3);
        if (i % 5 == 4)
            continue; /* stays queued */
        store_begin(store, id);
        if (i % 5 == 3)
            continue; /* stays running */

        bool cancel = i % 5 == 2;
        struct store_end end = accepted(1), again = accepted(2);
        snprintf(result, sizeof result, "{\"first\": \"%s\"}", id);
        end.result = result;
        again.result = "{\"second\": true}";
        snprintf(ended.line, sizeof ended.line, "%c %s\n", cancel ? 'C' : 'E', id);
        if (cancel)
            store_cancel(store, id, "cancelled", on_step, &ended);
        else
            store_finish(store, id, &end, on_step, &ended);
        store_finish(store, id, &again, NULL, NULL);
        if (!await(&ended.answer))
            _exit(4);
    }
    return NULL;
}

static void run_child(void)
{
    struct store *store;
    kgrade_error error;
    if (store_open(path, &store, &error)) {
        fprintf(stderr, "%s: %s\n", error.code, error.message);
        _exit(5);
    }
    confirm("O\n");
    memset(source, 'x', sizeof source - 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, live, store);
    for (;;)
        pause();
}

/* --- The parent --------------------------------------------------------------------------------- */

static struct {
    char id[STORE_ID_SIZE], what;
} confirmed[MOST_CONFIRMED];
static size_t n_confirmed;

static void note(const char *line)
{
    if (line[0] == 'O')
        return;
    assert_true(n_confirmed < MOST_CONFIRMED);
    confirmed[n_confirmed].what = line[0];
    snprintf(confirmed[n_confirmed].id, STORE_ID_SIZE, "%.32s", line + 2);
    n_confirmed++;
}

/* Reads what the child says; kills it `us` after it has said so many lines; and reads on to the end. */
static void listen_and_kill(int fd, pid_t child, unsigned lines, unsigned us)
{
    static char text[1 << 20];
    size_t used = 0;
    unsigned said = 0;
    uint64_t kill_at = lines ? UINT64_MAX : io_now() + us * 1000ull;
    uint64_t give_up_at = io_now() + GENEROUS_NS;
    bool killed = false;
    for (;;) {
        uint64_t now = io_now();
        if (!killed && now >= (kill_at < give_up_at ? kill_at : give_up_at)) {
            assert_int_equal(kill(child, SIGKILL), 0);
            killed = true;
        }
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, killed ? 1000 : kill_at == UINT64_MAX ? 10 : 0);
        if (!p.revents)
            continue;
        ssize_t n = read(fd, text + used, sizeof text - used);
        assert_true(n >= 0);
        if (!n)
            break;
        for (const char *c = text + used; c < text + used + n; c++)
            said += *c == '\n';
        if (said >= lines && kill_at == UINT64_MAX)
            kill_at = io_now() + us * 1000ull;
        used += (size_t)n;
        assert_true(used < sizeof text);
    }
    assert_true(killed); /* else it ended by itself */
    for (char *line = text, *end; (end = memchr(line, '\n', used - (size_t)(line - text)));
         line = end + 1)
        note(line);
}

static void check(struct store *store, size_t from)
{
    for (size_t i = from; i < n_confirmed; i++) {
        struct store_row row;
        char result[64];
        assert_int_equal(
            store_get(store, confirmed[i].id, STORE_WITH_RESULT | STORE_WITH_SOURCE, &row, NULL),
            0);
        assert_non_null(row.source);
        assert_true(row.state != STORE_RUNNING);
        snprintf(result, sizeof result, "{\"first\": \"%s\"}", row.id);
        if (confirmed[i].what == 'E') {
            assert_int_equal(row.state, STORE_DONE);
            assert_true(row.score == 1);
        }
        if (confirmed[i].what == 'C')
            assert_int_equal(row.state, STORE_CANCELLED);
        if (row.state == STORE_DONE)
            assert_string_equal(row.result, result);
        else
            assert_null(row.result);
        store_row_free(&row);
    }
}

static int64_t count(sqlite3 *db, const char *sql)
{
    int64_t n = -1;
    assert_int_equal(database_number(db, sql, &n), SQLITE_OK);
    return n;
}

static void check_tables(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int64_t jobs = count(db, "SELECT count(*) FROM jobs");
    assert_int_equal(count(db, "SELECT count(*) FROM sources JOIN jobs USING (seq)"), jobs);
    assert_int_equal(count(db, "SELECT count(*) FROM sources"), jobs);
    assert_int_equal(count(db, "SELECT count(*) FROM results"),
                     count(db, "SELECT count(*) FROM jobs WHERE state = 2"));
    assert_int_equal(count(db, "SELECT count(*) FROM results JOIN jobs USING (seq)"),
                     count(db, "SELECT count(*) FROM jobs WHERE state = 2"));
    sqlite3_close(db);
}

static void test_killed(void **state)
{
    (void)state;
    for (int round = 0; round < KILLS; round++) {
        int ends[2];
        unsigned random;
        size_t before = n_confirmed;
        io_random(&random, sizeof random);
        assert_int_equal(pipe(ends), 0);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            close(ends[0]);
            confirmations = ends[1];
            run_child();
        }
        close(ends[1]);
        /* One in five perhaps while it opens the database. */
        if (round % 5)
            listen_and_kill(ends[0], child, 1 + random % 40, random / 64 % 5000);
        else
            listen_and_kill(ends[0], child, 0, random % 40000);
        close(ends[0]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

        struct store *store = open_store();
        check(store, before);
        if (round == KILLS - 1)
            check(store, 0);
        close_store(store);
        check_tables();
    }
    assert_sound();
    assert_true(n_confirmed > KILLS);
    print_message("%zu confirmations\n", n_confirmed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed, set_up_folder, tear_down_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
