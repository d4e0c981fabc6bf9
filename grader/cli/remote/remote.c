#define _GNU_SOURCE
#include "remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../progress.h"
#include "../view.h"
#include "events.h"
#include "transfer.h"

#define FIRST_PAUSE_MS 250u
#define MAX_RETRY_AFTER_S 120u
#define ASK_TIMEOUT_S 60u
#define CANCEL_TIMEOUT_S 10u
#define CANCEL_TRIES_S 15u
#define KEY_BYTES 16

struct remote {
    struct transfer *transfer;
    enum cli_exit blame;
    bool complained; /* that the server cannot be had: once is enough */
};

const char *remote_server(const struct cli *cli)
{
    const char *server = cli->server ? cli->server : getenv("KGRADE_SERVER");
    return server && *server && strcmp(server, "local") ? server : NULL;
}

int remote_open(const struct cli *cli, struct remote **ret, kgrade_error *error)
{
    struct remote *r = calloc(1, sizeof *r);
    if (!r)
        return fail(error, "out_of_memory", NULL, "There is no memory for talking to the server.");
    r->blame = CLI_USAGE;
    if (transfer_open(remote_server(cli), cli->token_file, &r->transfer, error)) {
        free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void remote_close(struct remote *r)
{
    if (!r)
        return;
    transfer_close(r->transfer);
    free(r);
}

enum cli_exit remote_blame(const struct remote *r)
{
    return r->blame;
}

static bool nobody_asked(void)
{
    return !progress_signal();
}

/* A problem document as an error. */
static int fail_as_told(const struct transfer_answer *answer, kgrade_error *error)
{
    json_auto_t *problem = answer->body ? json_loads(answer->body, 0, NULL) : NULL;
    const char *code = view_string(problem, "code"), *detail = view_string(problem, "detail"),
               *hint = view_string(problem, "hint");
    if (code && detail)
        return fail(error, code, hint, "%s", detail);
    return fail(error, "bad_answer", "Is it a kgraded that answers there?",
                "The server answered %u without saying why.", answer->status);
}

/* Sleeps; false when a signal asked to stop. */
static bool pause_ms(unsigned ms)
{
    for (; ms && nobody_asked(); ms -= ms < 100 ? ms : 100) {
        struct timespec step = {.tv_nsec = (long)(ms < 100 ? ms : 100) * 1000000};
        nanosleep(&step, NULL);
    }
    return nobody_asked();
}

struct retry {
    uint64_t give_up;
    unsigned next_ms;
};

static struct retry retry_start(unsigned seconds)
{
    return (struct retry){io_now() + seconds * IO_NS_PER_S, FIRST_PAUSE_MS};
}

/* Waits before another try; false when there shall be none. */
static bool retry_again(struct retry *retry, unsigned retry_after_s)
{
    uint16_t random;
    io_random(&random, sizeof random);
    /* Not all who were turned away come back at the same moment. */
    unsigned ms = retry->next_ms / 2 + random % (retry->next_ms / 2 + 1);
    if (retry_after_s)
        ms += 1000 * (retry_after_s < MAX_RETRY_AFTER_S ? retry_after_s : MAX_RETRY_AFTER_S);
    if (io_now() + ms * IO_NS_PER_MS > retry->give_up)
        return false;
    retry->next_ms *= 2;
    if (retry->next_ms > REMOTE_MAX_PAUSE_S * 1000)
        retry->next_ms = REMOTE_MAX_PAUSE_S * 1000;
    return pause_ms(ms);
}

static bool may_pass(unsigned status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Somebody waits: what for? */
static void complain_once(struct remote *r, const kgrade_error *error, unsigned seconds)
{
    if (!r->complained && seconds >= 60)
        fprintf(stderr, "kgrade: %s  Trying again for up to %u minutes.\n", error->message,
                seconds / 60);
    r->complained = true;
}

/* Runs the request until it is answered with success. */
static int run(struct remote *r, const struct transfer_request *request, unsigned seconds,
               struct transfer_answer *ret, kgrade_error *error)
{
    struct retry retry = retry_start(seconds);
    for (;;) {
        struct transfer_answer answer = {0};
        r->blame = CLI_INFRASTRUCTURE;
        if (!transfer_run(r->transfer, request, &answer, error)) {
            if (answer.status >= 200 && answer.status < 300) {
                *ret = answer;
                return 0;
            }
            r->blame = answer.status < 500 ? CLI_USAGE : CLI_INFRASTRUCTURE;
            fail_as_told(&answer, error);
            transfer_answer_free(&answer);
            if (!may_pass(answer.status))
                return -1;
        } else if (strcmp(error->code, "server_unreachable") != 0) {
            return -1;
        }
        if (answer.status == 0)
            complain_once(r, error, seconds);
        if (!retry_again(&retry, answer.retry_after_s))
            return -1;
    }
}

static int run_json(struct remote *r, const struct transfer_request *request, unsigned seconds,
                    json_t **ret, bool *ret_reused, kgrade_error *error)
{
    cleanup_answer struct transfer_answer answer = {0};
    if (run(r, request, seconds, &answer, error))
        return -1;
    json_t *json =
        answer.body ? json_loadb(answer.body, answer.size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json)
        return fail(error, "bad_answer", "Is it a kgraded that answers there?",
                    "The server's answer is not JSON.");
    if (ret_reused)
        *ret_reused = answer.reused;
    *ret = json;
    return 0;
}

int remote_get(struct remote *r, const char *path, json_t **ret, kgrade_error *error)
{
    const struct transfer_request request = {
        .method = "GET", .path = path, .timeout_s = ASK_TIMEOUT_S};
    transfer_ask(r->transfer, nobody_asked);
    return run_json(r, &request, REMOTE_GIVE_UP_S, ret, NULL, error);
}

static char *submission(const kgrade_request *q, bool reuse)
{
    json_auto_t *body = json_pack("{s:s, s:s, s:s%}", "task", q->task, "device", q->device,
                                  "source", q->source, q->source_size);
    if (!body || (q->language && json_object_set_new(body, "language", json_string(q->language))) ||
        (q->profile && json_object_set_new(body, "profile", json_true())) ||
        (reuse && json_object_set_new(body, "reuse", json_true())))
        return NULL;
    return json_dumps(body, JSON_COMPACT);
}

int remote_submit(struct remote *r, const kgrade_request *q, bool reuse,
                  char ret_id[REMOTE_ID_SIZE], bool *ret_reused, kgrade_error *error)
{
    uint8_t random[KEY_BYTES];
    char key[64] = "Idempotency-Key: ";
    io_random(random, sizeof random);
    for (size_t i = 0; !q->id && i < sizeof random; i++)
        snprintf(key + strlen(key), sizeof key - strlen(key), "%02x", random[i]);
    if (q->id)
        snprintf(key + strlen(key), sizeof key - strlen(key), "%.*s", KGRADE_ID_DIGITS, q->id);
    cleanup_free char *body = submission(q, reuse);
    if (!body) {
        r->blame = CLI_USAGE;
        return fail(error, "source_not_utf8", "Save the source as UTF-8 without NUL bytes.",
                    "The source is not UTF-8 text.");
    }
    const struct transfer_request request = {.method = "POST",
                                             .path = "/grade?wait=0",
                                             .headers = {key},
                                             .body = body,
                                             .body_size = strlen(body),
                                             .timeout_s = ASK_TIMEOUT_S};
    json_auto_t *answer = NULL;
    transfer_ask(r->transfer, nobody_asked);
    if (run_json(r, &request, REMOTE_GIVE_UP_S, &answer, ret_reused, error))
        return -1;
    const char *id = view_string(answer, "id");
    if (!id || strlen(id) >= REMOTE_ID_SIZE || strspn(id, "0123456789abcdef") != strlen(id))
        return fail(error, "bad_answer", "Is it a kgraded that answers there?",
                    "The server's answer does not name the grade.");
    strcpy(ret_id, id);
    return 0;
}

/* Following. */

struct following {
    kgrade_progress progress;
    void *data;
    bool ended;
};

static void take_event(void *user, const char *name, const char *data, const char *id)
{
    (void)id;
    struct following *f = user;
    json_auto_t *json = json_loads(data, 0, NULL);
    char step[32];
    double ahead = view_number(json, "ahead"), done = view_number(json, "done"),
           total = view_number(json, "total");
    snprintf(step, sizeof step, ahead > 0 ? "%.8s, %.0f ahead" : "%.20s", name, ahead);
    if (!strcmp(name, "done") || !strcmp(name, "cancelled"))
        f->ended = true;
    else
        f->progress(f->data, step, done > 0 ? (unsigned)done : 0, total > 0 ? (unsigned)total : 0);
}

static void take_bytes(void *user, const char *text, size_t size)
{
    events_feed(user, text, size);
}

int remote_follow(struct remote *r, const char *id, kgrade_progress progress, void *data,
                  json_t **ret, kgrade_error *error)
{
    struct following following = {progress, data, false};
    struct events events = {.take = take_event, .user = &following};
    char path[128], last[64];
    snprintf(path, sizeof path, "/grades/%.64s/events", id);
    struct retry retry = retry_start(REMOTE_GIVE_UP_S);
    transfer_ask(r->transfer, nobody_asked);
    while (!following.ended) {
        snprintf(last, sizeof last, "Last-Event-ID: %s", events.id);
        const struct transfer_request request = {.method = "GET",
                                                 .path = path,
                                                 .headers = {events.id[0] ? last : NULL},
                                                 .take = take_bytes,
                                                 .data = &events};
        char before[sizeof events.id];
        strcpy(before, events.id);
        cleanup_answer struct transfer_answer answer = {0};
        if (run(r, &request, REMOTE_GIVE_UP_S, &answer, error))
            return -1;
        events_restart(&events);
        if (strcmp(before, events.id) != 0) /* it goes on: patience starts anew */
            retry = retry_start(REMOTE_GIVE_UP_S);
        if (!following.ended && !retry_again(&retry, 0))
            return fail(error, nobody_asked() ? "server_unreachable" : "interrupted", NULL,
                        "The server's events ended before the grade was done.");
    }
    snprintf(path, sizeof path, "/grades/%.64s", id);
    return remote_get(r, path, ret, error);
}

static bool always(void)
{
    return true;
}

int remote_cancel(struct remote *r, const char *id, json_t **ret, kgrade_error *error)
{
    char path[128];
    snprintf(path, sizeof path, "/grades/%.64s", id);
    const struct transfer_request request = {
        .method = "DELETE", .path = path, .timeout_s = CANCEL_TIMEOUT_S};
    /* The wish to stop is what brought us here; it must not stop this as well. */
    transfer_ask(r->transfer, always);
    return run_json(r, &request, CANCEL_TRIES_S, ret, NULL, error);
}
