#define _GNU_SOURCE
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/fail.h"

#define HINT "kgraded --help lists the options."

enum {
    OPT_LISTEN = 256,
    OPT_UNIX,
    OPT_TASKS,
    OPT_CACHE,
    OPT_ISOLATION,
    OPT_MAX_BODY,
    OPT_MAX_BUFFERED,
    OPT_MAX_CONNECTIONS,
    OPT_MAX_PER_ADDRESS,
    OPT_QUEUE,
    OPT_REQUEST_TIMEOUT,
    OPT_DRAIN,
    OPT_LOG_LEVEL,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"unix", required_argument, NULL, OPT_UNIX},
    {"tasks", required_argument, NULL, OPT_TASKS},
    {"cache", required_argument, NULL, OPT_CACHE},
    {"isolation", required_argument, NULL, OPT_ISOLATION},
    {"max-body", required_argument, NULL, OPT_MAX_BODY},
    {"max-buffered", required_argument, NULL, OPT_MAX_BUFFERED},
    {"max-connections", required_argument, NULL, OPT_MAX_CONNECTIONS},
    {"max-per-address", required_argument, NULL, OPT_MAX_PER_ADDRESS},
    {"queue", required_argument, NULL, OPT_QUEUE},
    {"request-timeout", required_argument, NULL, OPT_REQUEST_TIMEOUT},
    {"drain", required_argument, NULL, OPT_DRAIN},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

void options_help(void)
{
    printf(
        "Usage: kgraded [OPTION]...\n"
        "Serves the grading of GPU kernels over HTTP.\n"
        "\n"
        "Where it listens and what it serves:\n"
        "  --listen ADDR:PORT     loopback address and port, 0 for any free one (%s)\n"
        "  --unix PATH            a Unix socket instead\n"
        "  --tasks DIR            folder of tasks (as installed)\n"
        "  --cache DIR            keeps compiled references and baselines (a private temporary "
        "one)\n"
        "  --isolation LEVEL      full: refuse to start without the full sandbox (default);\n"
        "                         reduced: make do with what the machine can give\n"
        "Limits; sizes take the suffixes K, M and G:\n"
        "  --max-body BYTES       one request body (%uM)\n"
        "  --max-buffered BYTES   all request bodies held at once (%uM)\n"
        "  --max-connections N    open at once (%u)\n"
        "  --max-per-address N    open at once from one address (as many as --max-connections)\n"
        "  --queue N              grades that wait for their turn; more are refused (%u)\n"
        "  --request-timeout S    to send a request, and again to take its answer (%u)\n"
        "  --drain S              given to running grades at shutdown (%u)\n"
        "Other:\n"
        "  --log-level LEVEL      error, warning, info (default) or debug; the log goes to stderr\n"
        "  --help, --version\n"
        "\n"
        "SIGTERM and SIGINT finish what runs and then end the server; a second one ends it now.\n"
        "Exit status: 0 ended as asked, 2 usage, 3 something that kgraded needs is missing or "
        "failed.\n",
        SERVER_DEFAULT_LISTEN, SERVER_DEFAULT_MAX_BODY >> 20, SERVER_DEFAULT_MAX_BUFFERED >> 20,
        SERVER_DEFAULT_CONNECTIONS, SERVER_DEFAULT_QUEUE, SERVER_DEFAULT_REQUEST_TIMEOUT_S,
        SERVER_DEFAULT_DRAIN_S);
}

static int parse_number(const char *name, const char *text, bool suffixes, unsigned long long least,
                        unsigned long long most, unsigned long long *ret, kgrade_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool good = isdigit((unsigned char)text[0]) && errno == 0;
    if (good && suffixes && *end) {
        static const char letters[] = "KMG";
        const char *letter = strchr(letters, *end);
        unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
        good = letter && !end[1] && value <= most >> shift;
        value <<= shift;
        end++;
    }
    if (!good || *end || value < least || value > most)
        return fail(err, "usage", HINT,
                    "--%s takes a whole number from %llu to %llu, not '%.100s'.", name, least, most,
                    text);
    *ret = value;
    return 0;
}

static int parse_unsigned(const char *name, const char *text, unsigned least, unsigned most,
                          unsigned *ret, kgrade_error *err)
{
    unsigned long long value = 0;
    if (parse_number(name, text, false, least, most, &value, err))
        return -1;
    *ret = (unsigned)value;
    return 0;
}

static int parse_size(const char *name, const char *text, unsigned long long least,
                      unsigned long long most, size_t *ret, kgrade_error *err)
{
    unsigned long long value = 0;
    if (parse_number(name, text, true, least, most, &value, err))
        return -1;
    *ret = (size_t)value;
    return 0;
}

static int parse_isolation(const char *text, bool *ret_reduced, kgrade_error *err)
{
    if (strcmp(text, "full") && strcmp(text, "reduced"))
        return fail(err, "usage", HINT, "--isolation is full or reduced, not '%.100s'.", text);
    *ret_reduced = !strcmp(text, "reduced");
    return 0;
}

static int parse_log_level(const char *text, enum log_level *ret, kgrade_error *err)
{
    for (enum log_level level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        if (!strcmp(text, log_level_name(level))) {
            *ret = level;
            return 0;
        }
    }
    return fail(err, "usage", HINT, "--log-level is error, warning, info or debug, not '%.100s'.",
                text);
}

static int parse_one(int option, const char *value, struct server_options *o, kgrade_error *err)
{
    switch (option) {
    case OPT_LISTEN:
        o->listen = value;
        return 0;
    case OPT_UNIX:
        o->unix_path = value;
        return 0;
    case OPT_TASKS:
        o->tasks = value;
        return 0;
    case OPT_CACHE:
        o->cache = value;
        return 0;
    case OPT_ISOLATION:
        return parse_isolation(value, &o->allow_reduced, err);
    case OPT_MAX_BODY:
        return parse_size("max-body", value, 1024, SERVER_MAX_MAX_BODY, &o->max_body, err);
    case OPT_MAX_BUFFERED:
        return parse_size("max-buffered", value, 1024, SERVER_MAX_MAX_BUFFERED, &o->max_buffered,
                          err);
    case OPT_MAX_CONNECTIONS:
        return parse_unsigned("max-connections", value, 1, SERVER_MAX_CONNECTIONS,
                              &o->max_connections, err);
    case OPT_MAX_PER_ADDRESS:
        return parse_unsigned("max-per-address", value, 1, SERVER_MAX_CONNECTIONS,
                              &o->max_per_address, err);
    case OPT_QUEUE:
        return parse_unsigned("queue", value, 0, SERVER_MAX_QUEUE, &o->queue, err);
    case OPT_REQUEST_TIMEOUT:
        return parse_unsigned("request-timeout", value, 1, SERVER_MAX_REQUEST_TIMEOUT_S,
                              &o->request_timeout, err);
    case OPT_DRAIN:
        return parse_unsigned("drain", value, 0, SERVER_MAX_DRAIN_S, &o->drain, err);
    case OPT_LOG_LEVEL:
        return parse_log_level(value, &o->log_level, err);
    default:
        return fail(err, "usage", HINT, "An option is unknown or lacks its value.");
    }
}

enum options_outcome options_parse(int argc, char **argv, struct server_options *ret,
                                   kgrade_error *err)
{
    struct server_options o = {
        .max_body = SERVER_DEFAULT_MAX_BODY,
        .max_buffered = SERVER_DEFAULT_MAX_BUFFERED,
        .max_connections = SERVER_DEFAULT_CONNECTIONS,
        .queue = SERVER_DEFAULT_QUEUE,
        .request_timeout = SERVER_DEFAULT_REQUEST_TIMEOUT_S,
        .drain = SERVER_DEFAULT_DRAIN_S,
        .log_level = LOG_LEVEL_INFO,
    };

    opterr = 0;
    for (;;) {
        int word = optind;
        int option = getopt_long(argc, argv, "+:h", long_options, NULL);
        if (option == -1)
            break;
        if (option == 'h')
            return OPTIONS_HELP;
        if (option == OPT_VERSION)
            return OPTIONS_VERSION;
        if (option == '?' || option == ':') {
            fail(err, "usage", HINT, "'%.100s' %s", argv[word],
                 option == ':' ? "needs a value." : "is not an option of kgraded.");
            return OPTIONS_BAD;
        }
        if (parse_one(option, optarg, &o, err))
            return OPTIONS_BAD;
    }
    if (optind < argc) {
        fail(err, "usage", HINT, "'%.100s' is one word too many.", argv[optind]);
        return OPTIONS_BAD;
    }
    if (o.listen && o.unix_path) {
        fail(err, "usage", HINT, "--listen and --unix exclude each other.");
        return OPTIONS_BAD;
    }
    if (o.max_buffered < o.max_body) {
        fail(err, "usage", HINT, "--max-buffered (%zu) must have room for one --max-body (%zu).",
             o.max_buffered, o.max_body);
        return OPTIONS_BAD;
    }
    if (!o.listen && !o.unix_path)
        o.listen = SERVER_DEFAULT_LISTEN;
    if (!o.max_per_address)
        o.max_per_address = o.max_connections;
    *ret = o;
    return OPTIONS_RUN;
}
