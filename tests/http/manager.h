/* A service manager of the size of a test: passes a socket, hears notifications, reads the log. */
#ifndef MANAGER_H
#define MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MANAGER_MAX_HEARD 16384

struct manager {
    char folder[64];               /* of everything; its end is the caller's */
    int listener;                  /* a listening Unix socket, folder/socket */
    int notified;                  /* where the notifications come in */
    char heard[MANAGER_MAX_HEARD]; /* all of them, each in its own line */
    pid_t pid;
    char log[96];
};

/* How the program is started. */
struct manager_start {
    unsigned sockets;          /* $LISTEN_FDS; 0: none is passed */
    int socket;                /* the one passed, several times if need be; -1: the manager's own */
    bool others_socket;        /* $LISTEN_PID is another process's */
    unsigned watchdog_usec;    /* 0: none */
    bool others_watchdog;      /* $WATCHDOG_PID is another process's */
    const char *arguments[16]; /* beside --isolation reduced --config /dev/null */
};

/* Makes folder and sockets; false when it cannot. */
bool manager_open(struct manager *manager);
void manager_close(struct manager *manager);

bool manager_run(struct manager *manager, const char *program, const struct manager_start *start);
/* Hears until a notification begins with this; NULL after two minutes, or when the program ended. */
const char *manager_await(struct manager *manager, const char *beginning);
/* Hears what has come so far. */
void manager_hear(struct manager *manager);
void manager_forget(struct manager *manager);
/* How many notifications began with this. */
unsigned manager_count(const struct manager *manager, const char *beginning);
/* Waits for the end; the exit status, -1 when it had to be killed or was. */
int manager_reap(struct manager *manager);
/* Whether the log says this. */
bool manager_logged(const struct manager *manager, const char *text);

/* A connection to the manager's socket, or -1. */
int manager_dial(const struct manager *manager);

#endif
