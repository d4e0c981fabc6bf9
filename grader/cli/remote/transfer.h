/*
 * One HTTP exchange with a kgraded, through libcurl.
 *
 * A server is named "http://HOST:PORT", "https://..." or "unix:/PATH/OF/SOCKET".  The token is read from a file or from
 * $KGRADE_TOKEN: on a command line every user of the machine could read it.
 */
#ifndef KGRADE_CLI_TRANSFER_H
#define KGRADE_CLI_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "kgrade/error.h"

/* A result, a listing; not a stream. */
#define TRANSFER_MAX_ANSWER (64u << 20)
/* Silence after which a connection counts as broken; the server sends something every 15 s. */
#define TRANSFER_SILENCE_S 60
#define TRANSFER_CONNECT_S 10

struct transfer; /* a connection that is kept between exchanges; not for several threads */

/* Errors: `bad_server` (the URL), `token_unreadable`, `out_of_memory`. */
int transfer_open(const char *server, const char *token_file, struct transfer **ret,
                  kgrade_error *error);
void transfer_close(struct transfer *transfer);

/* Asked while waiting; false ends the exchange with `interrupted`. */
void transfer_ask(struct transfer *transfer, bool (*go_on)(void));

struct transfer_request {
    const char *method;     /* "GET", "POST", "DELETE" */
    const char *path;       /* from the server's root, with its query */
    const char *headers[3]; /* "Name: value"; ends with NULL */
    const char *body;       /* JSON; NULL: none */
    size_t body_size;
    unsigned timeout_s; /* for all of it; 0: as long as something comes */
    /* Takes the body of a 200 as it arrives; NULL: it goes into the answer. */
    void (*take)(void *data, const char *text, size_t size);
    void *data;
};

struct transfer_answer {
    unsigned status;
    char *body; /* NUL-terminated */
    size_t size;
    unsigned retry_after_s; /* 0: not said */
    bool reused;            /* the server says that it is an earlier grade */
};
void transfer_answer_free(struct transfer_answer *answer);
#define cleanup_answer __attribute__((cleanup(transfer_answer_free)))

/* 0 with an answer of whatever status; -1 with `server_unreachable` (worth another try), `interrupted`,
 * `answer_too_large`, `out_of_memory`. */
int transfer_run(struct transfer *transfer, const struct transfer_request *request,
                 struct transfer_answer *ret, kgrade_error *error);

#endif
