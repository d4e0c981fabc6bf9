#define _GNU_SOURCE
#include "transfer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../../sandbox/base/io.h"

#define MAX_TOKEN_BYTES 4096
#define UNIX_PREFIX "unix:"

struct transfer {
    CURL *curl;
    char *root;   /* what paths are appended to */
    char *socket; /* path of a Unix socket, or NULL */
    char *authorization;
    bool (*go_on)(void);
};

/* Where the bytes of one exchange go. */
struct reception {
    CURL *curl;
    const struct transfer_request *request;
    struct transfer_answer *answer;
    bool too_large;
};

static void free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}
#define cleanup_list __attribute__((cleanup(free_list)))

static int no_memory(kgrade_error *error)
{
    return fail(error, "out_of_memory", NULL, "There is no memory for talking to the server.");
}

static int read_token(const char *path, char **ret_authorization, kgrade_error *error)
{
    cleanup_bytes struct bytes file = {0};
    const char *token = path ? NULL : getenv("KGRADE_TOKEN");
    if (path && io_read_file(path, MAX_TOKEN_BYTES, &file, error)) {
        snprintf(error->code, sizeof error->code, "token_unreadable");
        return -1;
    }
    if (path)
        token = (const char *)file.data;
    size_t length = token ? strcspn(token, "\r\n") : 0;
    if (path && !length)
        return fail(error, "token_unreadable", "The file holds the token and nothing else.",
                    "%s is empty.", path);
    if (!length)
        return 0;
    return asprintf(ret_authorization, "Authorization: Bearer %.*s", (int)length, token) < 0
               ? no_memory(error)
               : 0;
}

static int read_server(struct transfer *t, const char *server, kgrade_error *error)
{
    size_t length = strlen(server);
    bool is_unix = !strncmp(server, UNIX_PREFIX, strlen(UNIX_PREFIX));
    if (!is_unix && strncmp(server, "http://", 7) && strncmp(server, "https://", 8))
        return fail(error, "bad_server",
                    "Name it as http://HOST:PORT, https://HOST or unix:/PATH/OF/SOCKET.",
                    "\"%.200s\" does not name a server.", server);
    while (length && server[length - 1] == '/')
        length--;
    if (is_unix) {
        t->socket = strdup(server + strlen(UNIX_PREFIX));
        t->root = strdup("http://localhost");
    } else {
        t->root = strndup(server, length);
    }
    return t->root && (t->socket || !is_unix) ? 0 : no_memory(error);
}

int transfer_open(const char *server, const char *token_file, struct transfer **ret,
                  kgrade_error *error)
{
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return no_memory(error);
    if (read_server(t, server, error) || read_token(token_file, &t->authorization, error)) {
        transfer_close(t);
        return -1;
    }
    t->curl = curl_easy_init();
    if (!t->curl) {
        transfer_close(t);
        return no_memory(error);
    }
    *ret = t;
    return 0;
}

void transfer_close(struct transfer *t)
{
    if (!t)
        return;
    curl_easy_cleanup(t->curl);
    free(t->root);
    free(t->socket);
    free(t->authorization);
    free(t);
}

void transfer_ask(struct transfer *t, bool (*go_on)(void))
{
    t->go_on = go_on;
}

static size_t on_body(char *data, size_t one, size_t n, void *user)
{
    (void)one; /* always 1 */
    struct reception *r = user;
    long status = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    if (r->request->take && status == 200) {
        r->request->take(r->request->data, data, n);
        return n;
    }
    struct transfer_answer *a = r->answer;
    r->too_large = n > TRANSFER_MAX_ANSWER - a->size;
    char *larger = r->too_large ? NULL : realloc(a->body, a->size + n + 1);
    if (!larger)
        return 0;
    a->body = larger;
    memcpy(a->body + a->size, data, n);
    a->size += n;
    a->body[a->size] = 0;
    return n;
}

static size_t on_header(char *data, size_t one, size_t n, void *user)
{
    (void)one;
    static const char retry[] = "Retry-After:", reused[] = "Kgrade-Reused:";
    struct transfer_answer *a = ((struct reception *)user)->answer;
    char line[128];
    snprintf(line, sizeof line, "%.*s", n < sizeof line ? (int)n : (int)sizeof line - 1, data);
    if (!strncasecmp(line, retry, sizeof retry - 1))
        a->retry_after_s = (unsigned)strtoul(line + sizeof retry - 1, NULL, 10);
    else if (!strncasecmp(line, reused, sizeof reused - 1))
        a->reused = strstr(line, "true");
    return n;
}

static int on_time(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    const struct transfer *t = user;
    return t->go_on && !t->go_on();
}

static int add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (!longer)
        return -1;
    *list = longer;
    return 0;
}

static int set_options(struct transfer *t, const struct transfer_request *request,
                       struct reception *reception, const char *url, struct curl_slist *headers)
{
    CURL *c = t->curl;
    curl_easy_reset(c);
    /* What can fail here fails for want of memory or because libcurl lacks a feature. */
    bool failed =
        curl_easy_setopt(c, CURLOPT_URL, url) ||
        (t->socket && curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, t->socket)) ||
        curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") ||
        curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, request->method) ||
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers) ||
        (request->body &&
         (curl_easy_setopt(c, CURLOPT_POSTFIELDS, request->body) ||
          curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size))) ||
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) ||
        curl_easy_setopt(c, CURLOPT_WRITEDATA, reception) ||
        curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) ||
        curl_easy_setopt(c, CURLOPT_HEADERDATA, reception) ||
        curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_time) ||
        curl_easy_setopt(c, CURLOPT_XFERINFODATA, t) || curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)TRANSFER_CONNECT_S);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)request->timeout_s);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)TRANSFER_SILENCE_S);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    return failed ? -1 : 0;
}

int transfer_run(struct transfer *t, const struct transfer_request *request,
                 struct transfer_answer *ret, kgrade_error *error)
{
    struct transfer_answer answer = {0};
    struct reception reception = {t->curl, request, &answer, false};
    cleanup_free char *url = NULL;
    cleanup_list struct curl_slist *headers = NULL;
    bool failed = asprintf(&url, "%s%s", t->root, request->path) < 0 ||
                  add_header(&headers, "User-Agent: kgrade") ||
                  (t->authorization && add_header(&headers, t->authorization)) ||
                  (request->body && add_header(&headers, "Content-Type: application/json"));
    for (size_t i = 0; request->headers[i] && !failed; i++)
        failed = add_header(&headers, request->headers[i]);
    if (failed || set_options(t, request, &reception, url, headers))
        return no_memory(error);
    CURLcode code = curl_easy_perform(t->curl);
    if (code == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
        answer.status = (unsigned)status;
        *ret = answer;
        return 0;
    }
    transfer_answer_free(&answer);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return fail(error, "interrupted", NULL, "Stopped.");
    if (reception.too_large)
        return fail(error, "answer_too_large", NULL, "The server's answer has more than %u bytes.",
                    TRANSFER_MAX_ANSWER);
    return fail(error, "server_unreachable", "Is kgraded running there?  --server names it.",
                "No answer from %s: %s.", t->socket ? t->socket : t->root,
                curl_easy_strerror(code));
}

void transfer_answer_free(struct transfer_answer *answer)
{
    free(answer->body);
    answer->body = NULL;
    answer->size = 0;
}
