/* kgraded under a service manager: activation, notifications, watchdog, reload. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manager.h"
#include "wire.h"

#define TOKEN_LENGTH 43
#define ANSWER_S 120
#define RELOADS 20

static const char *program;

static int set_up(void **state)
{
    static struct manager manager;
    *state = &manager;
    return manager_open(&manager) ? 0 : -1;
}

static int tear_down(void **state)
{
    manager_close(*state);
    return 0;
}

/* Adds a token to folder/tokens. */
static void make_token(const struct manager *m, const char *name, char token[TOKEN_LENGTH + 1])
{
    char command[256];
    snprintf(command, sizeof command, "'%s' token %s --file '%s/tokens' 2>/dev/null", program, name,
             m->folder);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fread(token, 1, TOKEN_LENGTH, f), TOKEN_LENGTH);
    token[TOKEN_LENGTH] = 0;
    assert_int_equal(pclose(f), 0);
}

/* The list of one's grades needs a good token. */
static unsigned status_with(int fd, const char *token)
{
    struct answer answer;
    char request[256];
    snprintf(request, sizeof request,
             "GET /grades?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token);
    if (!say(fd, request))
        return 0;
    hear(fd, ANSWER_S, &answer);
    return answer.status;
}

static unsigned ask_with(const struct manager *m, const char *token)
{
    int fd = manager_dial(m);
    assert_true(fd >= 0);
    unsigned status = status_with(fd, token);
    close(fd);
    return status;
}

static void assert_ends(struct manager *m)
{
    kill(m->pid, SIGTERM);
    assert_non_null(manager_await(m, "STOPPING=1"));
    assert_int_equal(manager_reap(m), 0);
    /* The socket is the manager's. */
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/socket", m->folder);
    assert_return_code(stat(path, &st), 0);
}

static void test_life(void **state)
{
    struct manager *m = *state;
    const struct manager_start start = {.sockets = 1, .socket = -1, .watchdog_usec = 600000};

    /* Who connects before it runs is served when it does. */
    int early = manager_dial(m);
    assert_true(early >= 0);
    assert_true(say(early, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(manager_run(m, program, &start));
    assert_non_null(manager_await(m, "READY=1"));
    struct answer answer;
    hear(early, ANSWER_S, &answer);
    assert_int_equal(answer.status, 200);
    close(early);
    const char *status = manager_await(m, "STATUS=");
    assert_non_null(status);
    assert_non_null(strstr(status, "0 running, 0 waiting"));
    assert_true(manager_logged(m, "listens on unix:/tmp/kgrade-manager-"));

    /* It goes on feeding. */
    for (int i = 0; i < 3; i++) {
        assert_non_null(manager_await(m, "WATCHDOG=1"));
        manager_forget(m);
    }
    assert_ends(m);
    assert_int_equal(manager_count(m, "READY=1"), 0);

    /* Who connects while none runs is served by the next one. */
    early = manager_dial(m);
    assert_true(early >= 0);
    assert_true(say(early, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(manager_run(m, program, &start));
    hear(early, ANSWER_S, &answer);
    assert_int_equal(answer.status, 200);
    close(early);
    assert_ends(m);
}

/* What is meant for another process is not taken. */
static void test_not_for_us(void **state)
{
    struct manager *m = *state;
    const struct manager_start start = {.sockets = 1,
                                        .socket = -1,
                                        .others_socket = true,
                                        .watchdog_usec = 100000,
                                        .others_watchdog = true};
    assert_true(manager_run(m, program, &start));
    assert_non_null(manager_await(m, "READY=1"));
    assert_true(manager_logged(m, "/kgraded.sock"));
    sleep_s(0.5);
    kill(m->pid, SIGTERM);
    assert_int_equal(manager_reap(m), 0);
    assert_int_equal(manager_count(m, "WATCHDOG=1"), 0);
    assert_int_equal(manager_count(m, "STOPPING=1"), 1);
}

static void assert_refused(struct manager *m, const struct manager_start *start, int status,
                           const char *why)
{
    assert_true(manager_run(m, program, start));
    assert_int_equal(manager_reap(m), status);
    if (!manager_logged(m, why))
        fail_msg("the log does not say '%s'", why);
    assert_int_equal(manager_count(m, "READY=1"), 0);
}

static void test_wrong_sockets(void **state)
{
    struct manager *m = *state;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_refused(m, &(struct manager_start){.sockets = 2, .socket = -1}, 3,
                   "has passed 2 sockets (kgraded.socket)");
    assert_refused(m, &(struct manager_start){.sockets = 1, .socket = fd}, 3,
                   "is no listening stream socket");
    assert_refused(m, &(struct manager_start){.sockets = 1, .socket = m->notified}, 3,
                   "is no listening stream socket");
    assert_refused(m,
                   &(struct manager_start){
                       .sockets = 1, .socket = -1, .arguments = {"--listen", "127.0.0.1:0"}},
                   3, "has passed a socket, and 127.0.0.1:0 names another one");
    close(fd);
}

/* Nothing that it starts inherits the manager's variables. */
static void test_environment(void **state)
{
    struct manager *m = *state;
    const struct manager_start start = {.sockets = 1, .socket = -1, .watchdog_usec = 10000000};
    assert_true(manager_run(m, program, &start));
    assert_non_null(manager_await(m, "READY=1"));
    char path[64], text[65536];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", m->pid, m->pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int child = 0, children = 0;
    while (fscanf(f, "%d", &child) == 1) {
        snprintf(path, sizeof path, "/proc/%d/environ", child);
        FILE *environment = fopen(path, "r");
        size_t n = environment ? fread(text, 1, sizeof text, environment) : 0;
        if (environment)
            fclose(environment);
        children += n > 0;
        static const char *const secret[] = {"NOTIFY_", "LISTEN_", "WATCHDOG_", "CREDENTIALS_"};
        for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++)
            assert_null(memmem(text, n, secret[i], strlen(secret[i])));
    }
    fclose(f);
    assert_true(children > 0);
    assert_ends(m);
}

static void await_reload(struct manager *m)
{
    assert_non_null(manager_await(m, "RELOADING=1|MONOTONIC_USEC="));
    assert_non_null(manager_await(m, "READY=1"));
    manager_forget(m);
}

static void test_reload(void **state)
{
    struct manager *m = *state;
    char old[TOKEN_LENGTH + 1], new[TOKEN_LENGTH + 1], tokens[128];
    make_token(m, "alice", old);
    snprintf(tokens, sizeof tokens, "%s/tokens", m->folder);
    const struct manager_start start = {
        .sockets = 1, .socket = -1, .arguments = {"--tokens", tokens}};
    assert_true(manager_run(m, program, &start));
    assert_non_null(manager_await(m, "READY=1"));
    manager_forget(m);
    assert_int_equal(ask_with(m, old), 200);
    assert_int_equal(ask_with(m, "nonsense"), 401);

    /* A request that is half sent, and an idle connection, over the reload. */
    int half = manager_dial(m), idle = manager_dial(m);
    assert_true(half >= 0 && idle >= 0);
    assert_true(say(half, "GET /version HTTP/1.1\r\nHo"));
    assert_int_equal(status_with(idle, old), 200);
    unlink(tokens);
    make_token(m, "alice", new);
    kill(m->pid, SIGHUP);
    await_reload(m);
    struct answer answer;
    assert_true(say(half, "st: x\r\n\r\n"));
    hear(half, ANSWER_S, &answer);
    assert_int_equal(answer.status, 200);
    assert_int_equal(status_with(idle, new), 200);
    close(half);
    close(idle);
    assert_int_equal(ask_with(m, old), 401);
    assert_int_equal(ask_with(m, new), 200);

    /* While it reloads again and again every request is answered. */
    for (int i = 0; i < RELOADS; i++) {
        kill(m->pid, SIGHUP);
        do {
            assert_int_equal(ask_with(m, new), 200);
            manager_hear(m);
        } while (!manager_count(m, "READY=1"));
        manager_forget(m);
    }

    /* A mistake in the file changes nothing. */
    FILE *f = fopen(tokens, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "alice agent %s\n", new) > 0);
    fclose(f);
    kill(m->pid, SIGHUP);
    await_reload(m);
    assert_true(manager_logged(m, "/tokens:1: this looks like a token"));
    assert_false(manager_logged(m, new));
    assert_false(manager_logged(m, old));
    assert_int_equal(ask_with(m, new), 200);
    assert_ends(m);
}

static void write_settings(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_queue_limit(const struct manager *m, unsigned expected)
{
    struct answer answer;
    char line[64];
    int fd = manager_dial(m);
    assert_true(fd >= 0);
    assert_true(say(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    hear(fd, ANSWER_S, &answer);
    close(fd);
    assert_int_equal(answer.status, 200);
    snprintf(line, sizeof line, "\nkgrade_queue_limit %u\n", expected);
    if (!strstr(answer.body, line))
        fail_msg("/metrics lacks '%s'", line + 1);
}

static void test_reload_settings(void **state)
{
    struct manager *m = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/conf", m->folder);
    write_settings(path, "queue = 7\n");
    const struct manager_start start = {
        .sockets = 1, .socket = -1, .arguments = {"--config", path}};
    assert_true(manager_run(m, program, &start));
    assert_non_null(manager_await(m, "READY=1"));
    manager_forget(m);
    assert_queue_limit(m, 7);

    write_settings(path, "queue = 8\nmax-body = 4M\n");
    kill(m->pid, SIGHUP);
    await_reload(m);
    assert_queue_limit(m, 8);
    assert_true(manager_logged(m, "only a restart changes: max-body"));

    write_settings(path, "queue = 9\nqeue = 9\n");
    kill(m->pid, SIGHUP);
    await_reload(m);
    assert_queue_limit(m, 8);
    assert_true(manager_logged(m, "/conf:2: there is no setting 'qeue'"));
    assert_ends(m);
}

int main(void)
{
    program = getenv("KGRADED");
    if (!program) {
        printf("skipped: KGRADED does not name the program to test\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_for_us, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_sockets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reload_settings, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
