/*
 * The settings of kgraded.  One table (settings.c) serves the command line (`--queue 100`), the
 * configuration file (`queue = 100`) and --help.  The command line wins over the file, the file over
 * the defaults, some of which come from the environment that a service manager gives (places.h).
 */
#ifndef KGRADED_OPTIONS_H
#define KGRADED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "kgrade/kgrade.h"

#include "../sandbox/base/error.h"
#include "log.h"

/* Where --help and the documents say that kgraded can be reached over TCP. */
#define SERVER_EXAMPLE_LISTEN "127.0.0.1:8710"

/* Grades that run at the same time.  One, because there is one device slot. */
#define SERVER_WORKERS 1u

/* Each limit: what is taken when the setting is not given, and the most that it takes. */
#define SERVER_DEFAULT_PYTHON_SPARES KGRADE_DEFAULT_PYTHON_SPARES
#define SERVER_MAX_PYTHON_SPARES KGRADE_MAX_PYTHON_SPARES
#define SERVER_DEFAULT_MAX_BODY (2u << 20)
#define SERVER_MAX_MAX_BODY (64u << 20)
#define SERVER_DEFAULT_MAX_BUFFERED (256u << 20)
#define SERVER_MAX_MAX_BUFFERED (4096ull << 20)
#define SERVER_DEFAULT_CONNECTIONS 1024u
#define SERVER_MAX_CONNECTIONS 65536u
#define SERVER_DEFAULT_QUEUE 1024u
#define SERVER_MAX_QUEUE 65536u
#define SERVER_MAX_RATE 1000000u
#define SERVER_MAX_BURST 100000u
#define SERVER_MAX_BUILDS_AHEAD 64u
#define SERVER_DEFAULT_MAX_GRADE_S 900u
#define SERVER_MAX_MAX_GRADE_S 86400u
#define SERVER_DEFAULT_MAX_JUDGING_S 600u
#define SERVER_DEFAULT_MAX_WAIT_S 600u
#define SERVER_MAX_MAX_WAIT_S 3600u
#define SERVER_DEFAULT_REQUEST_TIMEOUT_S 30u
#define SERVER_MAX_REQUEST_TIMEOUT_S 3600u
#define SERVER_DEFAULT_DRAIN_S 30u
#define SERVER_MAX_DRAIN_S 86400u

enum server_metrics { SERVER_METRICS_ALL, SERVER_METRICS_OPERATORS, SERVER_METRICS_OFF };

/* Strings are owned by it.  Those marked "reload" may change in options_reload and are for the main
 * thread only; the others stay as they are while kgraded runs. */
struct server_options {
    char *config;             /* the file that was read; NULL: none */
    char *listen;             /* ADDR:PORT; NULL when another listener is used */
    char *unix_path;          /* NULL when another listener is used */
    bool default_listener;    /* unix_path was chosen for want of an instruction */
    char *tasks;              /* NULL: as installed */
    char *python;             /* see kgrade_options; NULL: none */
    unsigned python_spares;   /* see kgrade_options */
    char *cache;              /* NULL: a private temporary folder */
    char *store;              /* path of the database */
    char *tokens;             /* NULL: none */
    bool tokens_from_manager; /* tokens is a systemd credential, which only a restart renews */
    bool allow_reduced; /* accept a reduced sandbox where the machine cannot give the full one */
    enum server_metrics metrics; /* who may read /metrics */
    size_t max_body;             /* bytes of one request body */
    size_t max_buffered;         /* bytes of all request bodies held at once */
    unsigned max_connections;    /* open at once */
    unsigned max_per_address;    /* open at once from one address */
    unsigned queue;              /* reload: grades that wait */
    unsigned queue_per_owner;    /* reload: of these, from one owner whose token does not say */
    unsigned rate;               /* reload: grades a minute of one owner whose token does not say */
    unsigned burst;              /* reload: at once, of one owner whose token does not say */
    unsigned builds_ahead;       /* threads beside a device's one slot */
    unsigned max_grade;          /* reload: seconds of one grade, from its begin */
    unsigned max_judging;        /* seconds that one grade's judge may compute in all */
    unsigned max_wait;           /* seconds that ?wait= may ask for */
    unsigned request_timeout;    /* seconds to send a request, and again to take its answer */
    unsigned drain;              /* reload: seconds that running grades are given at shutdown */
    enum log_level log_level;    /* reload */
    int argc;                    /* where it came from */
    char **argv;
};

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };

/* Reads the command line, which must stay where it is, and the configuration file.  *err is filled for
 * OPTIONS_BAD: `usage`, or for the file `config_unreadable`, `config_invalid` (the message begins with
 * FILE:LINE).  Free with options_free when the outcome is OPTIONS_RUN. */
enum options_outcome options_parse(int argc, char **argv, struct server_options *ret,
                                   kgrade_error *err);

void options_free(struct server_options *o);

/* Reads the file again.  Changes the settings marked "reload" in *o and leaves the others; writes the
 * names of those that differ and need a restart to ret_restart, "" when there are none.  On error
 * everything stays as it was. */
int options_reload(struct server_options *o, char *ret_restart, size_t size, kgrade_error *err);

/* The text of --help, on stdout. */
void options_help(void);

#endif
