/*
 * Thousands of requests that are cut short, too large, slow, out of order or not HTTP at all, from several clients at
 * once: each gets the status that it must, and the server keeps nothing of them.
 *
 *     KGRADED=build/release/bin/kgraded KGRADE_REQUESTS=10000 tests/http/http_malformed
 *
 * A server that was built with a sanitizer tells at its end whether anything leaked; the memory of one that was not is
 * compared before and after.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

#define DEFAULT_REQUESTS 300
#define N_CLIENTS 8
#define ANSWER_S 120
#define REQUEST_TIMEOUT_S 1 /* the server's */
#define SLOW_ONE_IN 100     /* each of these takes that long */
#define MAX_BODY (64 << 10)
#define WARM_UP 0.2          /* of all requests, before memory is first looked at */
#define MAX_GROWTH (4 << 20) /* bytes */

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: x\r\n"
#define GET(path) HEAD("GET", path) "\r\n"
#define POST(length) HEAD("POST", "/grade") "Content-Length: " length "\r\n\r\n"

/* What is sent at once, and the status of each answer; 0 ends them. */
struct request {
    const char *text;
    unsigned statuses[4];
    bool or_closed; /* the server may also hang up: what came cannot be taken for HTTP */
    bool ends;      /* then the client ends its sending side */
    bool resets;    /* or leaves without listening */
};

static const struct request requests[] = {
    /* What is wrong with paths, methods and queries. */
    {.text = GET("/nowhere"), .statuses = {404}},
    {.text = GET("/grades/0123"), .statuses = {404}},
    {.text = GET("/../../etc/passwd"), .statuses = {404}},
    {.text = GET("/%2e%2e/%2e%2e/etc/passwd"), .statuses = {404}},
    {.text = HEAD("PUT", "/grade") "\r\n", .statuses = {405}},
    {.text = HEAD("DELETE", "/version") "\r\n", .statuses = {405}},
    {.text = GET("/grades?limit=x"), .statuses = {422}},
    {.text = GET("/grades?limit=1&limit=2"), .statuses = {422}},
    {.text = GET("/leaderboards/none?device=opencl"), .statuses = {404}},
    /* Bodies. */
    {.text = POST("0"), .statuses = {400}},
    {.text = POST("1") "{", .statuses = {400}},
    {.text = POST("4") "null", .statuses = {422}},
    {.text = POST("2") "[]", .statuses = {422}},
    {.text = POST("10") "{\"a\":1.}}}", .statuses = {400}},
    {.text = POST("8") "\xff\xfe\x01\x02{\"}\"", .statuses = {400}},
    {.text = POST("15") "{\"task\":\"none\"}", .statuses = {422}},
    {.text = POST("25") "{\"task\":\"a\",\"task\":\"b\"}xx", .statuses = {400}},
    {.text = POST("48") "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", .statuses = {400}},
    {.text = HEAD("POST", "/grade") "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"x\r\n0\r\n\r\n",
     .statuses = {400}},
    {.text = HEAD("POST", "/grade") "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
     .statuses = {400},
     .or_closed = true},
    {.text = HEAD("POST", "/grade") "Content-Length: -1\r\n\r\n",
     .statuses = {400},
     .or_closed = true},
    {.text = HEAD("POST", "/grade") "Content-Length: 1e3\r\n\r\n",
     .statuses = {400},
     .or_closed = true},
    {.text = HEAD("POST", "/grade") "Content-Length: 99999999999999999999\r\n\r\n",
     .statuses = {413},
     .or_closed = true},
    {.text = HEAD("POST", "/grade") "Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n",
     .statuses = {413}},
    /* Cut short. */
    {.text = POST("1000") "{\"task\":", .statuses = {408}, .or_closed = true, .ends = true},
    {.text = "GET /vers", .statuses = {408}, .or_closed = true, .ends = true},
    {.text = "", .statuses = {408}, .or_closed = true, .ends = true},
    {.text = POST("1000") "{", .resets = true},
    {.text = "GET ", .resets = true},
    {.text = GET("/tasks"), .resets = true},
    /* One behind the other. */
    {GET("/version") GET("/nowhere") GET("/healthz"), .statuses = {200, 404, 200}},
    {.text = POST("1") "{" GET("/version"), .statuses = {400, 200}},
    {.text = GET("/version") "\x01\x02\xff\r\n\r\n\r\n\r\n",
     .statuses = {200, 400},
     .or_closed = true},
    /* Not HTTP. */
    {.text = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
     .statuses = {400},
     .or_closed = true},
    {.text = "GET\r\n\r\n", .statuses = {400}, .or_closed = true},
    {.text = "GET /version HTTP/9.9\r\nHost: x\r\n\r\n", .statuses = {505}, .or_closed = true},
    {.text = "GET /version HTTP/1.1\r\n\r\n", .statuses = {400}},
};

static struct {
    struct server server;
    unsigned wanted;
    atomic_uint sent, wrong, answers;
} all;

static void complain(const char *what, const struct answer *answer, unsigned status)
{
    if (atomic_fetch_add(&all.wrong, 1) < 20)
        printf("FAILED %.60s: expected %u, heard %u%s\n", what, status, answer->status,
               answer->closed ? " and the end" : "");
}

/* When the connection was made on which this thread asks. */
static _Thread_local double dialled;

static int dial_now(void)
{
    dialled = now_s();
    return dial(&all.server);
}

static void expect(int fd, const struct request *r, unsigned status, struct answer *answer)
{
    hear(fd, ANSWER_S, answer);
    if (answer->status)
        atomic_fetch_add(&all.answers, 1);
    bool gone = !answer->status && answer->closed;
    /* A body that is cut short may also be found malformed, and what is no HTTP has several names. */
    bool unclear = r->or_closed && answer->status >= 400 && answer->status < 600;
    /* This thread itself may have been held up. */
    bool late = answer->status == 408 && now_s() - dialled > REQUEST_TIMEOUT_S - 0.1;
    if (answer->status != status && !unclear && !(r->or_closed && gone) && !late)
        complain(r->text, answer, status);
}

static void send_one(const struct request *r, struct answer *answer)
{
    int fd = dial_now();
    say(fd, r->text);
    if (r->ends)
        shutdown(fd, SHUT_WR);
    struct linger reset = {.l_onoff = r->resets, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    answer->status = 0;
    for (size_t i = 0;
         r->statuses[i] && i < sizeof r->statuses / sizeof r->statuses[0] && answer->status != 408;
         i++)
        expect(fd, r, r->statuses[i], answer);
    close(fd);
}

static void send_too_large(struct answer *answer)
{
    static const struct request r = {.text = POST("65537"), .statuses = {413}};
    static char body[MAX_BODY + 1];
    int fd = dial_now();
    say(fd, r.text);
    say_bytes(fd, body, sizeof body);
    expect(fd, &r, 413, answer);
    close(fd);
}

static void send_large_head(struct answer *answer)
{
    static const struct request r = {
        "GET /version HTTP/1.1\r\nHost: x\r\nX-Large: ", .statuses = {431}, .or_closed = true};
    static const char line[] = "0123456789012345678901234567890123456789012345678901234567890123";
    int fd = dial_now();
    say(fd, r.text);
    for (size_t i = 0; i < 1000 && say(fd, line); i++)
        ;
    expect(fd, &r, 431, answer);
    close(fd);
}

static void send_slowly(struct answer *answer)
{
    static const struct request r = {.text = POST("1000") "{", .statuses = {408}};
    int fd = dial_now();
    say(fd, r.text);
    for (double end = now_s() + REQUEST_TIMEOUT_S / 2.0; now_s() < end; sleep_s(0.1))
        say(fd, " ");
    expect(fd, &r, 408, answer);
    close(fd);
}

static void send_noise(unsigned *seed, struct answer *answer)
{
    static const struct request r = {.text = "noise", .statuses = {400}, .or_closed = true};
    char noise[600];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)rand_r(seed);
    memcpy(noise + 300, "\r\n\r\n", 4);
    int fd = dial_now();
    say_bytes(fd, noise, sizeof noise);
    shutdown(fd, SHUT_WR);
    expect(fd, &r, 400, answer);
    close(fd);
}

static void *client(void *data)
{
    enum { FIXED = sizeof requests / sizeof requests[0], NOISE = FIXED, TOO_LARGE, LARGE_HEAD, N };
    unsigned seed = (unsigned)(size_t)data + 1;
    struct answer *answer = malloc(sizeof *answer);
    while (answer && atomic_fetch_add(&all.sent, 1) < all.wanted) {
        unsigned which = (unsigned)rand_r(&seed) % N;
        if (rand_r(&seed) % SLOW_ONE_IN == 0)
            send_slowly(answer);
        else if (which == NOISE)
            send_noise(&seed, answer);
        else if (which == TOO_LARGE)
            send_too_large(answer);
        else if (which == LARGE_HEAD)
            send_large_head(answer);
        else
            send_one(&requests[which], answer);
    }
    free(answer);
    return NULL;
}

static void send_all(unsigned n)
{
    pthread_t clients[N_CLIENTS];
    atomic_store(&all.sent, 0);
    all.wanted = n;
    for (size_t i = 0; i < N_CLIENTS; i++)
        pthread_create(&clients[i], NULL, client, (void *)(i + n));
    for (size_t i = 0; i < N_CLIENTS; i++)
        pthread_join(clients[i], NULL);
}

int main(void)
{
    const char *program = getenv("KGRADED"), *given = getenv("KGRADE_REQUESTS");
    const char *const arguments[] = {
        "--isolation", "reduced", "--request-timeout", "1", "--max-body", "64K", NULL};
    unsigned n = given ? (unsigned)atoi(given) : DEFAULT_REQUESTS,
             warm_up = (unsigned)(n * WARM_UP);
    if (!program) {
        printf("skipped: KGRADED does not name the server\n");
        return 77;
    }
    if (!server_start(&all.server, program, arguments))
        return 1;
    send_all(warm_up);
    size_t before = server_memory(&all.server);
    send_all(n - warm_up);
    size_t after = server_memory(&all.server);
    bool sanitized = server_is_sanitized(&all.server);
    bool flat = after < before + MAX_GROWTH;
    bool clean = server_stop(&all.server) == 0; /* a leak is a failure here */
    unsigned wrong = atomic_load(&all.wrong);
    printf("%u requests, %u answers\n", n, atomic_load(&all.answers));
    printf("%s other statuses than expected: %u\n", wrong ? "FAILED" : "ok    ", wrong);
    printf("%s memory of the server, MB: %.1f, at the end %.1f\n",
           sanitized ? "      "
           : flat    ? "ok    "
                     : "FAILED",
           (double)before / 1e6, (double)after / 1e6);
    printf("%s the server ends cleanly%s\n", clean ? "ok    " : "FAILED",
           sanitized ? ", and nothing leaked" : "");
    return wrong || !clean || (!sanitized && !flat);
}
