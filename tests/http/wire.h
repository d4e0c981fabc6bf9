/* A client that can misbehave, and the server it talks to. */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct server {
    pid_t pid;
    unsigned port;
    char log[64]; /* path of its stderr */
};

/* Starts the program with its arguments (NULL-terminated, without argv[0]) on a free port of
 * loopback, with a store of its own unless they name one.  Returns false when it does not come up; then its log has been printed. */
bool server_start(struct server *server, const char *program, const char *const *arguments);
/* Ends it with SIGTERM and returns its exit status; -1 when it had to be killed. */
int server_stop(struct server *server);
/* Resident memory in bytes; 0 when unknown. */
size_t server_memory(const struct server *server);
bool server_is_sanitized(const struct server *server);

/* A connection; fails the test when there is none. */
int dial(const struct server *server);
/* The same with a receive buffer of so many bytes; 0: the usual. */
int dial_narrow(const struct server *server, int receive_bytes);
/* A connection, or -1. */
int try_dial(const struct server *server);
/* Sends all of it.  False when the server has closed. */
bool say(int fd, const char *text);
bool say_bytes(int fd, const void *data, size_t size);

/* One answer. */
struct answer {
    unsigned status; /* 0: the connection ended or timed out before a whole answer */
    bool closed;     /* status 0: by the server, in order or not */
    char head[2048];
    char body[65536];
};
/* Reads one answer, and no byte more; `seconds` for all of it. */
void hear(int fd, double seconds, struct answer *ret);
/* The string value of a key of a flat JSON body, or "". */
const char *answer_code(const struct answer *answer);

double now_s(void);
void sleep_s(double seconds);

#endif
