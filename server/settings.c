#define _GNU_SOURCE
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/fail.h"
#include "access/access.h"

#define MEMBER(member)                                                                             \
    .offset = offsetof(struct server_options, member),                                             \
    .width = sizeof(((struct server_options *)0)->member)

const struct setting settings[] = {
    {
        .name = "config",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        .reload = true,
        .only_command = true,
        MEMBER(config),
        .argument = "FILE",
        .text = "settings that are not given here",
        .shown = "/etc/kgraded.conf, if there is one",
    },
    {
        .name = "unix",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(unix_path),
        .argument = "PATH",
        .text = "listen on this Unix socket",
        .shown = "kgraded.sock in the run-time folder",
    },
    {
        .name = "listen",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(listen),
        .argument = "ADDR:PORT",
        .text = "listen on TCP instead, such as " SERVER_EXAMPLE_LISTEN
                "; port 0: any free one;\nbeyond loopback only with tokens",
    },
    {
        .name = "tokens",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(tokens),
        .argument = "FILE",
        .text = "who may use it; `kgraded token` makes a token",
        .shown = "none: who can connect",
    },
    {
        .name = "store",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(store),
        .argument = "FILE",
        .text = "database of all grades",
        .shown = "kgrade.db in the state folder",
    },
    {
        .name = "cache",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(cache),
        .argument = "DIR",
        .text = "keeps compiled references and baselines",
        .shown = "a private temporary one",
    },
    {
        .name = "tasks",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(tasks),
        .argument = "DIR",
        .text = "folder of tasks",
        .shown = "as installed",
    },
    {
        .name = "python",
        .kind = SETTING_TEXT,
        .group = SETTING_PLACE,
        MEMBER(python),
        .argument = "[NAME=]PATH[:...]",
        .text = "interpreters for candidates in Python",
        .shown = "none",
    },
    {
        .name = "python-spares",
        .kind = SETTING_NUMBER,
        .group = SETTING_PLACE,
        MEMBER(python_spares),
        .least = 1,
        .most = SERVER_MAX_PYTHON_SPARES,
        .preset = SERVER_DEFAULT_PYTHON_SPARES,
        .argument = "N",
        .text = "of each, processes on a GPU that wait with their frameworks\n"
                "imported; a grade takes two",
    },
    {
        .name = "isolation",
        .kind = SETTING_CHOICE,
        .group = SETTING_PLACE,
        MEMBER(allow_reduced),
        .argument = "full|reduced",
        .text =
            "refuse to start without the full sandbox, or make\ndo with what the machine can give",
    },
    {
        .name = "queue",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(queue),
        .most = SERVER_MAX_QUEUE,
        .preset = SERVER_DEFAULT_QUEUE,
        .argument = "N",
        .text = "grades that wait for their turn; more are refused",
    },
    {
        .name = "queue-per-owner",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(queue_per_owner),
        .most = SERVER_MAX_QUEUE,
        .preset = ACCESS_DEFAULT_QUEUE,
        .argument = "N",
        .text = "of these, from one owner",
    },
    {
        .name = "rate",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(rate),
        .least = 1,
        .most = SERVER_MAX_RATE,
        .preset = ACCESS_DEFAULT_RATE,
        .argument = "N",
        .text = "grades that one owner may ask for in a minute",
    },
    {
        .name = "burst",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(burst),
        .least = 1,
        .most = SERVER_MAX_BURST,
        .preset = ACCESS_DEFAULT_BURST,
        .argument = "N",
        .text = "and at once, after a pause",
    },
    {
        .name = "builds-ahead",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        MEMBER(builds_ahead),
        .most = SERVER_MAX_BUILDS_AHEAD,
        .argument = "N",
        .text = "candidates of a device that are compiled while another one is\n"
                "measured; on a device that is the CPU they disturb it",
    },
    {
        .name = "max-grade",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(max_grade),
        .least = 1,
        .most = SERVER_MAX_MAX_GRADE_S,
        .preset = SERVER_DEFAULT_MAX_GRADE_S,
        .argument = "S",
        .text = "one grade, from its begin to its end",
    },
    {
        .name = "max-judging",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        MEMBER(max_judging),
        .least = 1,
        .most = SERVER_MAX_MAX_GRADE_S,
        .preset = SERVER_DEFAULT_MAX_JUDGING_S,
        .argument = "S",
        .text = "of it that references and checks may compute, in all",
    },
    {
        .name = "max-wait",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        MEMBER(max_wait),
        .most = SERVER_MAX_MAX_WAIT_S,
        .preset = SERVER_DEFAULT_MAX_WAIT_S,
        .argument = "S",
        .text = "that a request may wait for its answer",
    },
    {
        .name = "drain",
        .kind = SETTING_NUMBER,
        .group = SETTING_SHARE,
        .reload = true,
        MEMBER(drain),
        .most = SERVER_MAX_DRAIN_S,
        .preset = SERVER_DEFAULT_DRAIN_S,
        .argument = "S",
        .text = "given to running grades at shutdown",
    },
    {
        .name = "max-body",
        .kind = SETTING_SIZE,
        .group = SETTING_LIMIT,
        MEMBER(max_body),
        .least = 1024,
        .most = SERVER_MAX_MAX_BODY,
        .preset = SERVER_DEFAULT_MAX_BODY,
        .argument = "BYTES",
        .text = "one request body",
    },
    {
        .name = "max-buffered",
        .kind = SETTING_SIZE,
        .group = SETTING_LIMIT,
        MEMBER(max_buffered),
        .least = 1024,
        .most = SERVER_MAX_MAX_BUFFERED,
        .preset = SERVER_DEFAULT_MAX_BUFFERED,
        .argument = "BYTES",
        .text = "all request bodies held at once",
    },
    {
        .name = "max-connections",
        .kind = SETTING_NUMBER,
        .group = SETTING_LIMIT,
        MEMBER(max_connections),
        .least = 1,
        .most = SERVER_MAX_CONNECTIONS,
        .preset = SERVER_DEFAULT_CONNECTIONS,
        .argument = "N",
        .text = "open at once",
    },
    {
        .name = "max-per-address",
        .kind = SETTING_NUMBER,
        .group = SETTING_LIMIT,
        MEMBER(max_per_address),
        .least = 1,
        .most = SERVER_MAX_CONNECTIONS,
        .argument = "N",
        .text = "open at once from one address",
        .shown = "max-connections",
    },
    {
        .name = "request-timeout",
        .kind = SETTING_NUMBER,
        .group = SETTING_LIMIT,
        MEMBER(request_timeout),
        .least = 1,
        .most = SERVER_MAX_REQUEST_TIMEOUT_S,
        .preset = SERVER_DEFAULT_REQUEST_TIMEOUT_S,
        .argument = "S",
        .text = "to send a request, and again to take its answer",
    },
    {
        .name = "metrics",
        .kind = SETTING_CHOICE,
        .group = SETTING_OTHER,
        MEMBER(metrics),
        .preset = SERVER_METRICS_ALL,
        .argument = "all|operators|off",
        .text = "who may read /metrics",
    },
    {
        .name = "log-level",
        .kind = SETTING_CHOICE,
        .group = SETTING_OTHER,
        .reload = true,
        MEMBER(log_level),
        .preset = LOG_LEVEL_INFO,
        .argument = "error|warning|info|debug",
        .text = "what is written to the log, which is stderr",
    },
};
const size_t settings_count = sizeof settings / sizeof settings[0];

const struct setting *setting_find(const char *name)
{
    for (size_t i = 0; i < settings_count; i++)
        if (!strcmp(settings[i].name, name))
            return &settings[i];
    return NULL;
}

static void *member(const struct setting *s, const struct server_options *o)
{
    return (char *)(uintptr_t)o + s->offset;
}

char **setting_text(const struct setting *s, const struct server_options *o)
{
    return member(s, o);
}

static void store_number(const struct setting *s, struct server_options *o,
                         unsigned long long value)
{
    if (s->width == sizeof(bool))
        *(bool *)member(s, o) = value != 0;
    else if (s->width == sizeof(unsigned))
        *(unsigned *)member(s, o) = (unsigned)value;
    else
        *(size_t *)member(s, o) = (size_t)value;
}

void setting_preset(const struct setting *s, struct server_options *o)
{
    if (s->kind != SETTING_TEXT)
        store_number(s, o, s->preset);
}

static int set_number(const struct setting *s, const char *prefix, const char *text,
                      struct server_options *o, kgrade_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool good = isdigit((unsigned char)text[0]) && errno == 0;
    if (good && s->kind == SETTING_SIZE && *end) {
        static const char letters[] = "KMG";
        const char *letter = strchr(letters, *end);
        unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
        good = letter && !end[1] && value <= s->most >> shift;
        value <<= shift;
        end++;
    }
    if (!good || *end || value < s->least || value > s->most)
        return fail(err, "usage", SETTINGS_HINT,
                    "%s%s takes a whole number from %llu to %llu, not '%.100s'.", prefix, s->name,
                    s->least, s->most, text);
    store_number(s, o, value);
    return 0;
}

static int set_choice(const struct setting *s, const char *prefix, const char *text,
                      struct server_options *o, kgrade_error *err)
{
    unsigned long long index = 0;
    for (const char *name = s->argument;; index++) {
        size_t length = strcspn(name, "|");
        if (length == strlen(text) && !memcmp(name, text, length)) {
            store_number(s, o, index);
            return 0;
        }
        if (!name[length])
            break;
        name += length + 1;
    }
    return fail(err, "usage", SETTINGS_HINT, "%s%s is one of %s, not '%.100s'.", prefix, s->name,
                s->argument, text);
}

static int set_text(const struct setting *s, const char *prefix, const char *text,
                    struct server_options *o, kgrade_error *err)
{
    char **slot = setting_text(s, o);
    if (!*text)
        return fail(err, "usage", SETTINGS_HINT, "%s%s needs a value.", prefix, s->name);
    char *copy = strdup(text);
    if (!copy)
        return fail(err, "out_of_memory", NULL, "There is no memory for %s%s.", prefix, s->name);
    free(*slot);
    *slot = copy;
    return 0;
}

int setting_set(const struct setting *s, const char *prefix, const char *text,
                struct server_options *o, kgrade_error *err)
{
    switch (s->kind) {
    case SETTING_TEXT:
        return set_text(s, prefix, text, o, err);
    case SETTING_CHOICE:
        return set_choice(s, prefix, text, o, err);
    case SETTING_NUMBER:
    case SETTING_SIZE:
    default:
        return set_number(s, prefix, text, o, err);
    }
}

bool setting_same(const struct setting *s, const struct server_options *a,
                  const struct server_options *b)
{
    if (s->kind != SETTING_TEXT)
        return !memcmp(member(s, a), member(s, b), s->width);
    const char *left = *setting_text(s, a);
    const char *right = *setting_text(s, b);
    return left && right ? !strcmp(left, right) : left == right;
}

void setting_swap(const struct setting *s, struct server_options *a, struct server_options *b)
{
    char kept[sizeof(unsigned long long)];
    memcpy(kept, member(s, a), s->width);
    memcpy(member(s, a), member(s, b), s->width);
    memcpy(member(s, b), kept, s->width);
}

static void print_default(const struct setting *s)
{
    if (s->shown) {
        printf(" (%s)", s->shown);
    } else if (s->kind == SETTING_SIZE) {
        printf(" (%lluM)", s->preset >> 20);
    } else if (s->kind == SETTING_NUMBER) {
        printf(" (%llu)", s->preset);
    } else if (s->kind == SETTING_CHOICE) {
        const char *name = s->argument;
        for (unsigned long long i = 0; i < s->preset; i++)
            name += strcspn(name, "|") + 1;
        printf(" (%.*s)", (int)strcspn(name, "|"), name);
    }
}

void setting_help(const struct setting *s)
{
    enum { COLUMN = 26 };
    int used = printf("  --%s %s", s->name, s->argument);
    for (const char *line = s->text; *line;) {
        int length = (int)strcspn(line, "\n");
        if (used > COLUMN - 2) {
            printf("\n");
            used = 0;
        }
        printf("%*s%.*s", COLUMN - used, "", length, line);
        line += length;
        if (*line++ != '\n')
            break;
        printf("\n");
        used = 0;
    }
    print_default(s);
    printf("\n");
}
