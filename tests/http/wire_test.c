/*
 * What no well-behaved client sends: slow, half, endless, pipelined, abandoned.  The servers have small limits, so that every
 * one of them is crossed: one is hasty, for what is about its patience, the other patient, so that a client that is held up is
 * not taken for a slow one.  After each test both must still be alive.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

#define TIMEOUT_S 1 /* of the hasty one */
#define TIMEOUT "1"
#define PATIENCE "600"
#define ANSWER_S 120 /* for what must come, however busy the machine */
#define MAX_BODY 65536
#define MAX_BUFFERED 131072
#define MAX_CONNECTIONS 32

static struct server hasty, patient;
static struct answer answer;

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST(length)                                                                               \
    "POST /grade HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " length \
    "\r\n\r\n"
#define UNKNOWN_TASK "{\"task\":\"no\",\"device\":\"opencl\",\"source\":\"x\"}"
#define UNBUILDABLE "{\"task\":\"vector_add\",\"device\":\"opencl\",\"source\":\"no C at all\"}"
_Static_assert(sizeof UNBUILDABLE - 1 == 62, "requests below give this length");
_Static_assert(sizeof UNKNOWN_TASK - 1 == 44, "requests below give this length");

static void assert_answer(int fd, unsigned status, const char *code)
{
    hear(fd, ANSWER_S, &answer);
    if (answer.status != status || strcmp(answer_code(&answer), code))
        fail_msg("expected %u %s, heard %u: %s%s", status, code, answer.status, answer.head,
                 answer.body);
}

/* The server ends the connection without another answer. */
static void assert_closed(int fd)
{
    hear(fd, ANSWER_S, &answer);
    if (answer.status || !answer.closed)
        fail_msg("expected the end of the connection, heard %u: %s%s", answer.status, answer.head,
                 answer.body);
    close(fd);
}

static int assert_alive(void **state)
{
    (void)state;
    const struct server *const servers[] = {&hasty, &patient};
    for (size_t i = 0; i < 2; i++) {
        int fd = dial(servers[i]);
        say(fd, GET("/healthz"));
        assert_answer(fd, 200, "");
        close(fd);
    }
    return 0;
}

static void test_silent(void **state)
{
    (void)state;
    double began = now_s();
    int fd = dial(&hasty);
    assert_answer(fd, 408, "request_timeout");
    assert_true(now_s() - began > TIMEOUT_S - 0.1);
    assert_closed(fd);
}

/* Says text and then one byte of rest at a time, until the server answers. */
static void trickle(const char *text, const char *rest)
{
    int fd = dial(&hasty);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    say(fd, text);
    while (*rest && poll(&p, 1, 50) == 0)
        say_bytes(fd, rest++, 1);
    assert_answer(fd, 408, "request_timeout");
    close(fd);
}

static void test_slow_headers(void **state)
{
    (void)state;
    trickle("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
}

static void test_slow_request_line(void **state)
{
    (void)state;
    trickle("GET /", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
}

static void test_slow_body(void **state)
{
    (void)state;
    trickle(POST("1000") "{", "                                                    ");
}

static void test_stalled_body(void **state)
{
    (void)state;
    int fd = dial(&hasty);
    say(fd, POST("1000") "{\"task\":");
    assert_answer(fd, 408, "request_timeout");
    close(fd);
}

static void test_idle_kept_alive(void **state)
{
    (void)state;
    int fd = dial(&hasty);
    say(fd, GET("/version"));
    assert_answer(fd, 200, "");
    assert_closed(fd);
}

static void test_half_closed_whole(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, GET("/version"));
    shutdown(fd, SHUT_WR);
    assert_answer(fd, 200, "");
    close(fd);

    fd = dial(&patient);
    say(fd, POST("44") UNKNOWN_TASK);
    shutdown(fd, SHUT_WR);
    assert_answer(fd, 404, "unknown_task");
    close(fd);

    /* It is not kept for a next request beyond the time for one. */
    fd = dial(&hasty);
    say(fd, GET("/version"));
    shutdown(fd, SHUT_WR);
    hear(fd, ANSWER_S, &answer);
    assert_closed(fd);
}

static void test_half_closed_part(void **state)
{
    (void)state;
    int fd = dial(&hasty);
    say(fd, POST("44") "{\"task\":");
    shutdown(fd, SHUT_WR);
    hear(fd, ANSWER_S, &answer);
    assert_true(answer.status == 408 || answer.closed);
    close(fd);

    fd = dial(&hasty);
    say(fd, "GET /vers");
    shutdown(fd, SHUT_WR);
    hear(fd, ANSWER_S, &answer);
    assert_true(answer.status == 408 || answer.closed);
    close(fd);
}

static void test_pipelined(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, GET("/version") POST("44") UNKNOWN_TASK GET("/nowhere") GET("/healthz"));
    assert_answer(fd, 200, "");
    assert_answer(fd, 404, "unknown_task");
    assert_answer(fd, 404, "not_found");
    assert_answer(fd, 200, "");
    close(fd);
}

static void test_pipelined_garbage(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, GET("/version") "\x01\x02\xff garbage\r\n\r\n\r\n\r\nmore\r\n\r\n");
    assert_answer(fd, 200, "");
    hear(fd, ANSWER_S, &answer);
    assert_true(answer.status == 400 || answer.closed);
    close(fd);
}

static void test_garbage(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        char noise[600];
        srandom(seed);
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (char)random();
        memcpy(noise + 200, "\r\n\r\n", 4);
        int fd = dial(&patient);
        say_bytes(fd, noise, sizeof noise);
        shutdown(fd, SHUT_WR);
        hear(fd, ANSWER_S, &answer);
        assert_true((answer.status >= 400 && answer.status < 600) || answer.closed);
        close(fd);
    }
}

static void test_no_host(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, "GET /version HTTP/1.1\r\n\r\n");
    hear(fd, ANSWER_S, &answer);
    assert_int_equal(answer.status, 400);
    close(fd);
}

static void test_large_headers(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, "GET /version HTTP/1.1\r\nHost: x\r\nX-Large: ");
    for (size_t i = 0;
         i < 1000 && say(fd, "0123456789012345678901234567890123456789012345678901234567890123");
         i++)
        ;
    hear(fd, ANSWER_S, &answer);
    assert_true(answer.status == 431 || answer.status == 413 || answer.closed);
    close(fd);
}

static void test_oversized(void **state)
{
    (void)state;
    static char body[MAX_BODY + 1];
    memset(body, ' ', sizeof body);
    int fd = dial(&patient);
    say(fd, POST("65537"));
    say_bytes(fd, body, sizeof body);
    assert_answer(fd, 413, "body_too_large");
    close(fd);

    /* One byte less is taken, and is not JSON. */
    fd = dial(&patient);
    say(fd, POST("65536"));
    say_bytes(fd, body, sizeof body - 1);
    assert_answer(fd, 400, "malformed_json");
    close(fd);
}

static void test_oversized_expecting(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, "POST /grade HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n");
    assert_answer(fd, 413, "body_too_large");
    assert_closed(fd);
}

static const char *const endless[] = {
    POST("5000000000"), "POST /grade HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "GET /version HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"};
#define N_ENDLESS (sizeof endless / sizeof *endless)
static char chunk[4096 + 8];

static void make_chunk(void)
{
    memcpy(chunk, "1000\r\n", 6);
    memset(chunk + 6, ' ', 4096);
    memcpy(chunk + 6 + 4096, "\r\n", 2);
}

/* Well past the limit, and the answer is still there to be read. */
static void test_endless(void **state)
{
    (void)state;
    static const unsigned statuses[] = {413, 413, 404, 413};
    static const char *const codes[] = {"body_too_large", "body_too_large", "not_found",
                                        "body_too_large"};
    make_chunk();
    for (size_t i = 0; i < N_ENDLESS; i++) {
        int fd = dial(&patient);
        say(fd, endless[i]);
        for (size_t n = 0; n < 3 * MAX_BODY / 4096; n++)
            say_bytes(fd, chunk, sizeof chunk);
        assert_answer(fd, statuses[i], codes[i]);
        close(fd);
    }
}

/* Politeness has an end. */
static void test_endless_is_ended(void **state)
{
    (void)state;
    make_chunk();
    for (size_t i = 0; i < N_ENDLESS; i++) {
        int fd = dial(&hasty);
        double end = now_s() + ANSWER_S;
        bool goes_on = say(fd, endless[i]);
        while (goes_on && now_s() < end) {
            goes_on = say_bytes(fd, chunk, sizeof chunk);
            sleep_s(0.01);
        }
        assert_false(goes_on);
        close(fd);
    }
}

/* Waits until the server holds so many bytes of bodies. */
static void await_bodies(size_t bytes)
{
    static const char figure[] = "\nkgrade_bodies_bytes ";
    double end = now_s() + ANSWER_S, held = -1;
    while (held != (double)bytes && now_s() < end) {
        int fd = dial(&patient);
        say(fd, GET("/metrics"));
        assert_answer(fd, 200, "");
        close(fd);
        const char *found = strstr(answer.body, figure);
        assert_non_null(found);
        held = strtod(found + sizeof figure - 1, NULL);
    }
    assert_true(held == (double)bytes);
}

static void test_buffered(void **state)
{
    (void)state;
    enum { FIT = MAX_BUFFERED / MAX_BODY };
    static char part[MAX_BODY - 1];
    int fds[FIT];
    memset(part, ' ', sizeof part);
    await_bodies(0);
    for (int i = 0; i < FIT; i++) {
        fds[i] = dial(&patient);
        say(fds[i], POST("65536"));
        say_bytes(fds[i], part, sizeof part);
        await_bodies((size_t)(i + 1) * MAX_BODY);
    }
    for (int i = 0; i < 2; i++) {
        int fd = dial(&patient);
        say(fd, POST("65536"));
        say_bytes(fd, part, sizeof part);
        say(fd, " ");
        assert_answer(fd, 503, "too_busy");
        assert_non_null(strcasestr(answer.head, "\r\nRetry-After: "));
        close(fd);
    }
    for (int i = 0; i < FIT; i++) {
        say(fds[i], " ");
        assert_answer(fds[i], 400, "malformed_json");
        close(fds[i]);
    }
}

static void test_chunked(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, "POST /grade HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            "1\r\n{\r\n2b\r\n\"task\":\"no\",\"device\":\"opencl\",\"source\":\"x\"}\r\n0\r\n\r\n");
    assert_answer(fd, 404, "unknown_task");
    close(fd);
}

static void test_vanishing(void **state)
{
    (void)state;
    static const char *const parts[] = {"",         "GET",          GET("/tasks"),
                                        POST("44"), POST("44") "{", POST("44") UNKNOWN_TASK};
    for (size_t i = 0; i < 300; i++) {
        int fd = dial(&hasty);
        say(fd, parts[i % 6]);
        struct linger reset = {.l_onoff = i % 2, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
    }
}

/* Clients that wait, on a server that grades nothing for them: each gets its answer or is gone. */
static void test_waiting(void **state)
{
    (void)state;
    enum { N = 24 };
    int fds[N];
    /* A grade that cannot be built is over soon; that its client leaves meanwhile is none of its
     * concern. */
    for (int i = 0; i < N; i++) {
        fds[i] = dial(&patient);
        say(fds[i],
            "POST /grade?wait=0 HTTP/1.1\r\nHost: x\r\nContent-Length: 62\r\n\r\n" UNBUILDABLE);
    }
    for (int i = 0; i < N; i++) {
        hear(fds[i], ANSWER_S, &answer);
        assert_true(answer.status == 202 || answer.status == 503);
        if (answer.status == 503)
            assert_string_equal(answer_code(&answer), "queue_full");
        assert_true(strcasestr(answer.head, "\r\nRetry-After: "));
        close(fds[i]);
    }
    for (int i = 0; i < N; i++) {
        fds[i] = dial(&patient);
        say(fds[i],
            "POST /grade?wait=60 HTTP/1.1\r\nHost: x\r\nContent-Length: 62\r\n\r\n" UNBUILDABLE);
        struct linger reset = {.l_onoff = i % 2, .l_linger = 0};
        setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fds[i]);
    }
}

/* A stream that ends its sending side, one that leaves, one that is reset. */
static void test_streams_abandoned(void **state)
{
    (void)state;
    int fd = dial(&patient);
    say(fd, GET("/grades?limit=1"));
    hear(fd, ANSWER_S, &answer);
    assert_int_equal(answer.status, 200);
    close(fd);
    const char *id = strstr(answer.body, "\"id\":\"");
    assert_non_null(id);
    for (int i = 0; i < 30; i++) {
        char request[256];
        snprintf(request, sizeof request, "GET /grades/%.32s/events HTTP/1.1\r\nHost: x\r\n\r\n",
                 id + 6);
        fd = dial(&patient);
        say(fd, request);
        if (i % 3 == 0)
            shutdown(fd, SHUT_WR);
        struct linger reset = {.l_onoff = i % 3 == 1, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
    }
}

static void test_many_connections(void **state)
{
    (void)state;
    enum { N = 4 * MAX_CONNECTIONS };
    int fds[N];
    for (int i = 0; i < N; i++)
        fds[i] = dial(&hasty);
    /* Silent clients hold all places, and more wait for one; the deadline frees them. */
    for (int i = N - 1; i >= 0; i -= MAX_CONNECTIONS / 2)
        assert_answer(fds[i], 408, "request_timeout");
    for (int i = 0; i < N; i++)
        close(fds[i]);
}

static void test_reader_that_does_not_read(void **state)
{
    (void)state;
    enum { N = 500 };
    static char requests[N * sizeof GET("/")];
    for (int i = 0; i < N; i++)
        strcat(requests, GET("/"));
    int fd = dial_narrow(&hasty, 4096);
    /* Until all buffers are full the server takes more; then it waits for us, and not for long. */
    double began = now_s();
    size_t done = 0, size = strlen(requests);
    bool cut = false, full = false;
    while (!cut && now_s() < began + ANSWER_S) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        full = poll(&p, 1, 100) == 0 || full;
        ssize_t n = send(fd, requests + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        cut = n < 0 && errno != EAGAIN;
        done = n > 0 ? (done + (size_t)n) % size : done;
    }
    assert_true(cut);
    assert_true(full);
    assert_true(now_s() - began > TIMEOUT_S - 0.1);
    close(fd);
}

static void test_memory(void **state)
{
    (void)state;
    if (server_is_sanitized(&patient)) {
        print_message("skipped: a sanitizer keeps freed memory; it looks for leaks itself\n");
        skip();
    }
    size_t before = 0;
    for (int i = 0; i < 4000; i++) {
        int fd = dial(&patient);
        say(fd, POST("44") UNKNOWN_TASK POST("5") "{\"a\"" GET("/tasks"));
        assert_answer(fd, 404, "unknown_task");
        close(fd);
        if (i == 400)
            before = server_memory(&patient);
    }
    size_t after = server_memory(&patient);
    assert_true(before > 0);
    if (after > before + (1 << 20))
        fail_msg("memory grew from %zu to %zu bytes in 3600 requests", before, after);
}

static void *fire(void *data)
{
    const struct server *target = data;
    static const char *const shots[] = {
        GET("/tasks") GET("/tasks"), POST("44") UNKNOWN_TASK, POST("44") "{",
        "\x01\xff\r\n\r\n",          "GET / HTTP/9\r\n\r\n",  "GET /version HTTP/1.1\r\n\r\n"};
    /* Until the server is gone: then nobody listens any more. */
    for (size_t i = 0;; i++) {
        int fd = try_dial(target);
        if (fd < 0)
            return NULL;
        say(fd, shots[i % 6]);
        char byte;
        if (i % 2)
            (void)!recv(fd, &byte, 1, 0);
        close(fd);
    }
}

static void test_stopped_under_fire(void **state)
{
    (void)state;
    enum { ROUNDS = 6, GUNS = 8 };
    static const char *const arguments[] = {"--isolation", "reduced", NULL};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t guns[GUNS];
        struct server target = {0};
        assert_true(server_start(&target, getenv("KGRADED"), arguments));
        for (int i = 0; i < GUNS; i++)
            assert_int_equal(pthread_create(&guns[i], NULL, fire, &target), 0);
        sleep_s(0.05 + 0.01 * round);
        assert_int_equal(server_stop(&target), 0);
        for (int i = 0; i < GUNS; i++)
            pthread_join(guns[i], NULL);
    }
}

static bool start_one(struct server *server, const char *timeout)
{
    const char *program = getenv("KGRADED");
    const char *const arguments[] = {"--isolation",
                                     "reduced",
                                     "--request-timeout",
                                     timeout,
                                     "--max-body",
                                     "64K",
                                     "--max-buffered",
                                     "128K",
                                     "--max-connections",
                                     "32",
                                     "--queue",
                                     "1",
                                     NULL};
    return program && server_start(server, program, arguments);
}

static int start(void **state)
{
    (void)state;
    return start_one(&hasty, TIMEOUT) && start_one(&patient, PATIENCE) ? 0 : -1;
}

/* cmocka does not count what fails after the last test. */
static bool stopped_well;

static int stop(void **state)
{
    (void)state;
    stopped_well = server_stop(&hasty) == 0;
    stopped_well = server_stop(&patient) == 0 && stopped_well;
    return stopped_well ? 0 : -1;
}

#define TEST(function) cmocka_unit_test_teardown(function, assert_alive)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_silent),
        TEST(test_slow_headers),
        TEST(test_slow_request_line),
        TEST(test_slow_body),
        TEST(test_stalled_body),
        TEST(test_idle_kept_alive),
        TEST(test_half_closed_whole),
        TEST(test_half_closed_part),
        TEST(test_pipelined),
        TEST(test_pipelined_garbage),
        TEST(test_garbage),
        TEST(test_no_host),
        TEST(test_large_headers),
        TEST(test_oversized),
        TEST(test_oversized_expecting),
        TEST(test_endless),
        TEST(test_endless_is_ended),
        TEST(test_buffered),
        TEST(test_chunked),
        TEST(test_vanishing),
        TEST(test_waiting),
        TEST(test_streams_abandoned),
        TEST(test_many_connections),
        TEST(test_reader_that_does_not_read),
        TEST(test_memory),
        TEST(test_stopped_under_fire),
    };
    int failures = cmocka_run_group_tests(tests, start, stop);
    return failures || !stopped_well;
}
