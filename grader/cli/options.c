#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

struct known_option {
    enum option_id id;
    char letter; /* 0: none */
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *help;
};

static const struct known_option known[] = {
    {OPTION_TASK, 't', "task", "TASK", "the task that FILE solves"},
    {OPTION_DEVICE, 'd', "device", "DEVICE", "where it runs (default: opencl)"},
    {OPTION_LANGUAGE, 'l', "language", "LANGUAGE",
     "what FILE is written in (default: python for *.py,\n"
     "hip for *.hip, else the device's first)"},
    {OPTION_JSON, 0, "json", NULL, "JSON on standard output"},
    {OPTION_JSONL, 0, "jsonl", NULL, "one line of JSON for each range and metric"},
    {OPTION_TRACE, 0, "trace", "FILE",
     "write single ranges to FILE, which must not exist: a trace for\n"
     "ui.perfetto.dev or chrome://tracing"},
    {OPTION_PROFILE, 0, "profile", NULL,
     "after the grade also tell where host time goes, as kgrade profile"},
    {OPTION_CONTROL, 0, "control", NULL,
     "also tell what it costs that ranges can be noted, and that they are"},
    {OPTION_DOT, 0, "dot", NULL, "Graphviz DOT on standard output"},
    {OPTION_OUTPUT, 'o', "output", "FILE", "write to FILE; an existing one is never overwritten"},
    {OPTION_RECORDING, 0, "recording", "FILE", "keep the recording that was replayed"},
    {OPTION_REPORT, 0, "report", "FILE",
     "write a page about the result to FILE, which must not exist: HTML\n"
     "that needs nothing but itself"},
    {OPTION_ISOLATION, 0, "isolation", "LEVEL",
     "full: refuse to run without it (default); reduced: make do with\n"
     "what the machine gives; reduced-only: for testing"},
    {OPTION_PRECISION, 'p', "precision", "P",
     "sample until the speedup is known to within P, as 0.005 or 0.5%\n"
     "(default: 0.5%), or the limit on samples or time is reached"},
    {OPTION_MAX_SAMPLES, 0, "max-samples", "N",
     "samples per benchmark case at most (default: 400)"},
    {OPTION_SERVER, 's', "server", "URL",
     "grade there: http://HOST:PORT or unix:/SOCKET (default:\n"
     "$KGRADE_SERVER; else, or with \"local\", on this machine)"},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE",
     "file with the token for the server (default: $KGRADE_TOKEN)"},
    {OPTION_REUSE, 0, "reuse", NULL, "with a server: take an earlier grade of the same source"},
    {OPTION_OUT, 0, "out", "DIR", "keep everything in DIR (default: regrade)"},
    {OPTION_PLAN, 0, "plan", NULL, "tell what would be graded, and what not and why; then stop"},
    {OPTION_ONLY, 0, "only", "PATTERN",
     "only entries whose id, author, problem, board or files match, as in\n"
     "a shell"},
    {OPTION_SAMPLE, 0, "sample", "N", "only N entries, drawn at random but the same every time"},
    {OPTION_RETRY, 0, "retry", "WHAT",
     "also grade again what ended in an error of the infrastructure\n"
     "(WHAT: infrastructure), or in what noise left open, too (unresolved)"},
    {OPTION_FROM_RECORDINGS, 0, "from-recordings", NULL,
     "time what was recorded again, without sources"},
    {OPTION_FORMAT, 0, "format", "NAME", "what SOURCE is, where its looks do not say so"},
    {OPTION_TASKS, 0, "tasks", "DIR", "folder of tasks (default: the one installed with kgrade)"},
    {OPTION_CACHE, 0, "cache", "DIR", "keep compiled references and baselines in DIR"},
    {OPTION_PYTHON, 0, "python", "[NAME=]PATH",
     "interpreter for candidates in Python; several are separated by\n"
     "colons (default: $KGRADE_PYTHON, else the first python3 in $PATH)"},
    {OPTION_PYTHON_SPARES, 0, "python-spares", "N",
     "processes of each interpreter that wait on a GPU for candidates,\n"
     "their frameworks imported (default: 2, which is what one takes)"},
    {OPTION_VERSION, 0, "version", NULL, "print the version"},
    {OPTION_HELP, 'h', "help", NULL, "print this"},
};

#define N_KNOWN (sizeof known / sizeof known[0])

static const enum option_id everywhere[] = {OPTION_TASKS, OPTION_CACHE, OPTION_PYTHON, OPTION_HELP,
                                            OPTION_END};
static const enum option_id before_commands[] = {OPTION_VERSION, OPTION_END};

static bool listed(const enum option_id *list, enum option_id id)
{
    for (; list && *list; list++)
        if (*list == id)
            return true;
    return false;
}

static bool takes(const struct command *command, enum option_id id)
{
    return listed(everywhere, id) || listed(command ? command->options : before_commands, id);
}

enum cli_exit options_complain(const char *command, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("kgrade: ", stderr);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, "\nTry: kgrade %s%s--help\n", command ? command : "", command ? " " : "");
    return CLI_USAGE;
}

static int complain_unknown(const struct command *command, const char *word)
{
    const char *names[N_KNOWN + 1];
    size_t n = 0;
    for (size_t i = 0; i < N_KNOWN; i++)
        if (takes(command, known[i].id))
            names[n++] = known[i].name;
    names[n] = NULL;

    char name[64] = "";
    const char *start = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    const char *nearest = text_nearest(name, names);
    const char *where = command ? command->name : NULL;
    if (nearest)
        options_complain(where, "There is no option %s%s%s; did you mean --%s?", word,
                         where ? " for " : "", where ? where : "", nearest);
    else
        options_complain(where, "There is no option %s%s%s.", word, where ? " for " : "",
                         where ? where : "");
    return -1;
}

static int parse_isolation(const struct command *command, const char *text, kgrade_options *options)
{
    static const char *const levels[] = {"full", "reduced", "reduced-only", NULL};
    options->allow_reduced = !strcmp(text, "reduced") || !strcmp(text, "reduced-only");
    options->force_reduced = !strcmp(text, "reduced-only");
    if (options->allow_reduced || !strcmp(text, "full"))
        return 0;
    const char *nearest = text_nearest(text, levels);
    options_complain(command->name,
                     "--isolation takes full, reduced or reduced-only, not \"%s\"%s%s%s", text,
                     nearest ? "; did you mean " : ".", nearest ? nearest : "", nearest ? "?" : "");
    return -1;
}

static int parse_precision(const struct command *command, const char *text, kgrade_options *options)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '%') {
        value /= 100;
        end++;
    }
    if (end == text || *end || !(value > 0 && value < 1)) {
        options_complain(
            command->name,
            "--precision takes a fraction above 0 and below 1, such as 0.005 or 0.5%%, not \"%s\".",
            text);
        return -1;
    }
    options->precision = value;
    return 0;
}

static int parse_max_samples(const struct command *command, const char *text,
                             kgrade_options *options)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value == 0 || value > UINT32_MAX) {
        options_complain(command->name, "--max-samples takes a whole number from 1 up, not \"%s\".",
                         text);
        return -1;
    }
    options->max_samples = (uint32_t)value;
    return 0;
}

static int parse_python_spares(const struct command *command, const char *text,
                               kgrade_options *options)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value == 0 || value > KGRADE_MAX_PYTHON_SPARES) {
        options_complain(command->name,
                         "--python-spares takes a whole number from 1 to %u, not \"%s\".",
                         KGRADE_MAX_PYTHON_SPARES, text);
        return -1;
    }
    options->python_spares = (uint32_t)value;
    return 0;
}

static int parse_sample(const struct command *command, const char *text, uint64_t *ret)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value == 0 || value > UINT32_MAX) {
        options_complain(command->name, "--sample takes a whole number from 1 up, not \"%s\".",
                         text);
        return -1;
    }
    *ret = value;
    return 0;
}

static int parse_retry(const struct command *command, const char *text, const char **ret)
{
    *ret = text;
    if (!strcmp(text, "infrastructure") || !strcmp(text, "unresolved"))
        return 0;
    options_complain(command->name, "--retry takes infrastructure or unresolved, not \"%s\".",
                     text);
    return -1;
}

static int apply(const struct command *command, enum option_id id, const char *value,
                 struct cli *cli)
{
    switch (id) {
    case OPTION_HELP:
        cli->help = true;
        return 0;
    case OPTION_VERSION:
        cli->version = true;
        return 0;
    case OPTION_TASKS:
        cli->options.tasks = value;
        return 0;
    case OPTION_CACHE:
        cli->options.cache = value;
        return 0;
    case OPTION_PYTHON:
        cli->options.python = value;
        return 0;
    case OPTION_TASK:
        cli->task = value;
        return 0;
    case OPTION_DEVICE:
        cli->device = value;
        return 0;
    case OPTION_LANGUAGE:
        cli->language = value;
        return 0;
    case OPTION_JSON:
        cli->json = true;
        return 0;
    case OPTION_JSONL:
        cli->jsonl = true;
        return 0;
    case OPTION_PROFILE:
        cli->profile = true;
        return 0;
    case OPTION_CONTROL:
        cli->control = true;
        return 0;
    case OPTION_TRACE:
        cli->trace = value;
        return 0;
    case OPTION_DOT:
        cli->dot = true;
        return 0;
    case OPTION_OUTPUT:
        cli->output = value;
        return 0;
    case OPTION_SERVER:
        cli->server = value;
        return 0;
    case OPTION_TOKEN_FILE:
        cli->token_file = value;
        return 0;
    case OPTION_REUSE:
        cli->reuse = true;
        return 0;
    case OPTION_RECORDING:
        cli->recording = value;
        cli->local_only = "--recording";
        return 0;
    case OPTION_REPORT:
        cli->report = value;
        return 0;
    case OPTION_ISOLATION:
        cli->local_only = "--isolation";
        return parse_isolation(command, value, &cli->options);
    case OPTION_PRECISION:
        cli->local_only = "--precision";
        return parse_precision(command, value, &cli->options);
    case OPTION_MAX_SAMPLES:
        cli->local_only = "--max-samples";
        return parse_max_samples(command, value, &cli->options);
    case OPTION_PYTHON_SPARES:
        cli->local_only = "--python-spares";
        return parse_python_spares(command, value, &cli->options);
    case OPTION_OUT:
        cli->folder = value;
        return 0;
    case OPTION_FORMAT:
        cli->format = value;
        return 0;
    case OPTION_ONLY:
        cli->only = value;
        return 0;
    case OPTION_SAMPLE:
        return parse_sample(command, value, &cli->sample);
    case OPTION_RETRY:
        return parse_retry(command, value, &cli->retry);
    case OPTION_FROM_RECORDINGS:
        cli->from_recordings = true;
        cli->local_only = "--from-recordings";
        return 0;
    case OPTION_PLAN:
        cli->plan = true;
        return 0;
    case OPTION_END:
        break;
    }
    return -1;
}

static const struct known_option *find_known(int id)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if ((int)known[i].id == id || (known[i].letter && known[i].letter == id))
            return &known[i];
    return NULL;
}

int options_parse(const struct command *command, int argc, char **argv, struct cli *cli,
                  int *ret_next)
{
    struct option longs[N_KNOWN + 1];
    char letters[2 * N_KNOWN + 3] = ":";
    size_t n = 0, n_letters = 1;
    if (!command) {
        strcpy(letters, "+:");
        n_letters = 2;
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (!takes(command, known[i].id))
            continue;
        longs[n++] = (struct option){.name = known[i].name,
                                     .has_arg = known[i].argument ? required_argument : no_argument,
                                     .val = (int)known[i].id};
        if (known[i].letter) {
            letters[n_letters++] = known[i].letter;
            if (known[i].argument)
                letters[n_letters++] = ':';
        }
    }
    letters[n_letters] = 0;
    longs[n] = (struct option){0};

    opterr = 0;
    optind = 0; /* makes getopt start afresh */
    for (;;) {
        int at = optind ? optind : 1;
        int id = getopt_long(argc, argv, letters, longs, NULL);
        if (id == -1)
            break;
        const struct known_option *option = find_known(id == ':' ? optopt : id);
        if (id == ':') {
            options_complain(command ? command->name : NULL, "--%s needs a value: --%s %s",
                             option ? option->name : "?", option ? option->name : "?",
                             option ? option->argument : "?");
            return -1;
        }
        if (!option) {
            const struct known_option *given = optopt >= 256 ? find_known(optopt) : NULL;
            if (given) {
                options_complain(command ? command->name : NULL, "--%s takes no value.",
                                 given->name);
                return -1;
            }
            char letter[3] = {'-', (char)optopt, 0};
            const char *word = optind > at && optind <= argc ? argv[optind - 1] : argv[at];
            return complain_unknown(command, optopt ? letter : word);
        }
        if (apply(command, option->id, optarg, cli))
            return -1;
    }
    *ret_next = optind;
    return 0;
}

static void print_options(const struct command *command, bool common)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        enum option_id id = known[i].id;
        if (!takes(command, id) || listed(everywhere, id) != common)
            continue;
        char left[64];
        char letter[5] = {'-', known[i].letter, ',', ' ', 0};
        snprintf(left, sizeof left, "%s--%s%s%s", known[i].letter ? letter : "    ", known[i].name,
                 known[i].argument ? " " : "", known[i].argument ? known[i].argument : "");
        const char *help = known[i].help;
        int line = (int)strcspn(help, "\n");
        printf("  %-24s  %.*s\n", left, line, help);
        if (help[line])
            printf("%28s%s\n", "", help + line + 1);
    }
}

static const char about[] =
    "Usage: kgrade [--tasks DIR] [--cache DIR] COMMAND ...\n"
    "\n"
    "Grades GPU kernels: builds a candidate in a jail, records one call, replays it in a clean\n"
    "process on inputs never seen before, judges the very replays that were timed.\n"
    "\n"
    "Commands:\n";

static const char statuses[] =
    "Exit status: 0 accepted or done; 1 graded but not accepted, or a task not fit for use, or\n"
    "a machine not ready, or a damaged database; 2 a mistake in the command line or the request;\n"
    "3 the infrastructure failed.\n";

void options_print_help(const struct command *command)
{
    if (!command) {
        fputs(about, stdout);
        for (const struct command *c = commands; c->name; c++)
            printf("  %-16s  %s\n", c->name, c->summary);
        puts("\nOptions:");
        print_options(NULL, false);
        print_options(NULL, true);
        printf("\nkgrade COMMAND --help tells about one command.\n%s", statuses);
        return;
    }
    printf("Usage: kgrade %s %s[options]\n\n%s\n\n", command->name, command->arguments,
           command->detail);
    puts("Options:");
    print_options(command, false);
    print_options(command, true);
    printf("\n%s", statuses);
}
