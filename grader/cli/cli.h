/*
 * The kgrade program: what its files share.
 *
 * main.c finds the command, options.c reads its options, commands.c, grade.c and profile.c carry
 * commands out, table.c, profile_table.c, compare_table.c and describe.c print for people, report/
 * writes a page, progress.c draws the moving line,
 * text.c holds pure helpers, db.c looks after the database of a server, remote/ talks to a server,
 * regrade*.c grade leaderboards with ../regrade.
 * The program knows libkgrade by its public header alone, and the server by its HTTP interface and
 * its database by SQLite.
 */
#ifndef KGRADE_CLI_H
#define KGRADE_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "kgrade/kgrade.h"

#include "../../sandbox/base/io.h"

enum cli_exit {
    CLI_ACCEPTED = 0,
    /* Graded, and not accepted; a task not fit for use; a machine not ready; a damaged database. */
    CLI_NOT_ACCEPTED = 1,
    CLI_USAGE = 2,          /* bad options, files or requests */
    CLI_INFRASTRUCTURE = 3, /* nobody's candidate is to blame; the message says what is */
};

#define CLI_MAX_RECORDING_BYTES (512u << 20)
#define CLI_DEFAULT_DEVICE "opencl"

enum option_id {
    OPTION_END = 0,
    OPTION_HELP = 256,
    OPTION_VERSION,
    OPTION_TASKS,
    OPTION_CACHE,
    OPTION_PYTHON,
    OPTION_PYTHON_SPARES,
    OPTION_TASK,
    OPTION_DEVICE,
    OPTION_LANGUAGE,
    OPTION_JSON,
    OPTION_DOT,
    OPTION_OUTPUT,
    OPTION_RECORDING,
    OPTION_REPORT,
    OPTION_ISOLATION,
    OPTION_PRECISION,
    OPTION_MAX_SAMPLES,
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_REUSE,
    OPTION_JSONL,
    OPTION_TRACE,
    OPTION_CONTROL,
    OPTION_PROFILE,
    OPTION_OUT,
    OPTION_FORMAT,
    OPTION_SAMPLE,
    OPTION_ONLY,
    OPTION_RETRY,
    OPTION_FROM_RECORDINGS,
    OPTION_PLAN,
};

/* A command line, read. */
struct cli {
    kgrade_options options;
    const char *task, *device, *language, *output, *recording, *report, *trace;
    const char *server, *token_file;
    const char *local_only; /* an option that only means something on this machine; NULL: none */
    const char *folder, *format, *only, *retry;
    uint64_t sample; /* 0: all */
    bool from_recordings, plan;
    bool json, jsonl, control, profile, dot, reuse, help, version;
    char **arguments;
    int n_arguments;
};

struct command {
    const char *name;      /* one or two words */
    const char *arguments; /* for the usage line */
    const char *summary;   /* one line for `kgrade --help` */
    const char *detail;    /* for `kgrade COMMAND --help` */
    int n_arguments;       /* exactly so many; or more where `arguments` has "..." */
    const enum option_id *options;
    enum cli_exit (*run)(const struct cli *cli);
};

extern const struct command commands[]; /* ends with a NULL name */

/* options.c */
/* Reads argv[1..argc-1] into *cli.  command NULL: only what may stand before a command, stopping at
 * the first word; *ret_next is the index of the first word that was not read.  -1 after printing
 * what is wrong. */
int options_parse(const struct command *command, int argc, char **argv, struct cli *cli,
                  int *ret_next);
void options_print_help(const struct command *command);
/* Prints a complaint with where to look further; returns CLI_USAGE. */
enum cli_exit options_complain(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* python.c */
/* An interpreter, where the command line named none and may need one. */
void python_settle(struct cli *cli);

/* language.c */
/* What --language says, else what the file's name says ("python", "hip"); NULL: the device's first. */
const char *cli_language(const struct cli *cli, const char *file);

/* commands.c */
void cli_print_error(const kgrade_error *error);
/* Opens an engine as the options say; NULL after printing why not, with the exit status in
 * *ret_exit. */
kgrade *cli_open(const struct cli *cli, enum cli_exit *ret_exit);
static inline void cleanup_engine_(kgrade **engine)
{
    kgrade_close(*engine);
}
#define cleanup_engine __attribute__((cleanup(cleanup_engine_)))

enum cli_exit command_tasks(const struct cli *cli);
enum cli_exit command_show(const struct cli *cli);
enum cli_exit command_new(const struct cli *cli);
enum cli_exit command_check_task(const struct cli *cli);
enum cli_exit command_describe_task(const struct cli *cli);
enum cli_exit command_recording_show(const struct cli *cli);
enum cli_exit command_doctor(const struct cli *cli);

/* db.c */
enum cli_exit command_db_backup(const struct cli *cli);
enum cli_exit command_db_check(const struct cli *cli);

/* grade.c */
/* What a grade with this verdict exits with; NULL: there is no verdict. */
enum cli_exit cli_exit_of(const char *verdict);
enum cli_exit command_grade(const struct cli *cli);
enum cli_exit command_replay(const struct cli *cli);

/* profile.c */
enum cli_exit command_profile(const struct cli *cli);

/* compare.c */
enum cli_exit command_compare(const struct cli *cli);

/* regrade.c, regrade_report.c */
enum cli_exit command_regrade(const struct cli *cli);
enum cli_exit command_regrade_report(const struct cli *cli);

/* describe.c: JSON of the library, for people, to stdout.  Missing values are left out. */
void describe_tasks(const json_t *tasks);
void describe_task(const json_t *task);
void describe_findings(const json_t *report, bool passed);
void describe_recording(const json_t *recording);
void describe_doctor(const json_t *report);
/* Whether the machine is ready to grade. */
bool doctor_ready(const json_t *report);

/* table.c */
/* A result of schema kgrade.grade/1, for people, to stdout. */
void table_print_result(const json_t *result);
struct grid;
/* The table of its cases alone; grid_free. */
void table_fill(const json_t *cases, struct grid *ret);
/* Pieces of it in words, without line breaks of their own.  Callers free; NULL: there is nothing to say. */
/* What is wrong with an element of "cases". */
char *table_mistake(const json_t *one);
/* How the times were taken: told once, for the first case that has times. */
char *table_method(const json_t *cases);
char *table_steps(const json_t *steps);

#endif
