/* The command line of kgraded. */
#ifndef KGRADED_OPTIONS_H
#define KGRADED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "../sandbox/base/error.h"
#include "log.h"

#define SERVER_DEFAULT_LISTEN "127.0.0.1:8710"

/* Grades that run at the same time.  One, because there is one device slot. */
#define SERVER_WORKERS 1u

/* Each limit: what is taken when the option is not given, and the most that the option takes. */
#define SERVER_DEFAULT_MAX_BODY (2u << 20)
#define SERVER_MAX_MAX_BODY (64u << 20)
#define SERVER_DEFAULT_MAX_BUFFERED (256u << 20)
#define SERVER_MAX_MAX_BUFFERED (4096ull << 20)
#define SERVER_DEFAULT_CONNECTIONS 1024u
#define SERVER_MAX_CONNECTIONS 65536u
#define SERVER_DEFAULT_QUEUE 64u
#define SERVER_MAX_QUEUE 65536u
#define SERVER_DEFAULT_REQUEST_TIMEOUT_S 30u
#define SERVER_MAX_REQUEST_TIMEOUT_S 3600u
#define SERVER_DEFAULT_DRAIN_S 30u
#define SERVER_MAX_DRAIN_S 86400u

struct server_options {
    const char *listen;    /* ADDR:PORT; NULL when unix_path is set */
    const char *unix_path; /* NULL: listen on TCP */
    const char *tasks;     /* NULL: as installed */
    const char *cache;     /* NULL: a private temporary folder */
    bool allow_reduced;    /* accept a reduced sandbox where the machine cannot give the full one */
    size_t max_body;       /* bytes of one request body */
    size_t max_buffered;   /* bytes of all request bodies held at once */
    unsigned max_connections; /* open at once */
    unsigned max_per_address; /* open at once from one address */
    unsigned queue;           /* grades that wait */
    unsigned request_timeout; /* seconds to send a request, and again to take its answer */
    unsigned drain;           /* seconds that running grades are given at shutdown */
    enum log_level log_level;
};

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };

/* Reads the command line.  Strings in *ret point into argv.  *err is filled for OPTIONS_BAD, code
 * `usage`. */
enum options_outcome options_parse(int argc, char **argv, struct server_options *ret,
                                   kgrade_error *err);

/* The text of --help, on stdout. */
void options_help(void);

#endif
