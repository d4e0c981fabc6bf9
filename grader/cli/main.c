#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "remote/commands.h"
#include "text.h"

static const char grade_detail[] =
    "Grades the candidate in FILE (\"-\": standard input) and prints a table, or the JSON with\n"
    "--json.  On a terminal, progress is shown while it works.  Of several files those with the\n"
    "language's extension (.c, .cu) are compiled and linked, the others are there to be included.\n"
    "With --report the result is also written as a page for a browser, which draws the samples,\n"
    "rooflines and recorded graphs.\n"
    "\n"
    "    kgrade new vector_add -o add.c\n"
    "    kgrade grade add.c --task vector_add --report add.html";

static const char status_detail[] = "Tells how far the grade ID is on the server, or its result.";

static const char watch_detail[] =
    "Follows the grade ID on the server until it is done, then prints its result.";

static const char cancel_detail[] =
    "Takes the grade ID out of the server's queue, or ends it if it is running.";

static const char leaderboard_detail[] = "Prints the server's ranking of TASK: score with its "
                                         "interval, owner, source.  Entries that the\n"
                                         "measurement cannot tell apart share a rank.";

static const char replay_detail[] =
    "Grades the calls kept in RECORDING (from kgrade grade --recording) again, without the source.";

static const char profile_detail[] =
    "Tells where CPU time goes between a call of the candidate in FILE and what it hands to the\n"
    "device: once in each of five fresh processes (cold), then over and over (warm).  Calls of "
    "the\n"
    "device's API are noted without the candidate's doing; it may name ranges of its own with "
    "NVTX,\n"
    "or with #include \"kgrade_ranges.h\".  A diagnosis: no score is made or moved by it.\n"
    "\n"
    "    kgrade profile add.c --task vector_add --trace add.trace.json";

static const char compare_detail[] =
    "Tells whether the candidate in B is faster than the one in A: by its kernels, which are timed "
    "in\n"
    "turn as in a grade, or only by its launch path, whose warm calls are timed in turn, too.\n"
    "\n"
    "    kgrade compare old.c new.c --task vector_add";

static const char regrade_detail[] =
    "Grades the entries of leaderboards that exist, each SOURCE a folder or a file, which is not\n"
    "changed.  Tells first what will be graded, and what cannot be and why.  What comes of it is "
    "kept\n"
    "in the folder of --out, beside the figures that the board had; recordings too.  The same "
    "command\n"
    "again, or one without a SOURCE, goes on where the last one ended, however it ended.\n"
    "\n"
    "    kgrade regrade board/vector_add --out regraded\n"
    "    kgrade regrade report regraded";

static const char regrade_report_detail[] =
    "Writes what a regrade has found into its folder DIR: report.html for a browser, "
    "results.jsonl\n"
    "and results.csv for machines.  May be called while the regrade goes on.";

static const char tasks_detail[] = "Lists the tasks.";

static const char show_detail[] =
    "Prints what a candidate for TASK has to do: statement, parameters, cases, tolerances.";

static const char new_detail[] =
    "Prints a source file to start from, made from the task's description.  With -o it is\n"
    "written to a file; an existing file is never overwritten, and FILE.py gets Python.";

static const char check_task_detail[] =
    "Examines the task in FOLDER: its description, limits and roofline; whether answers that cost\n"
    "less than the work are found wrong, among them zeros, constants, copies of an input, answers\n"
    "that ignore an input and lower precision; and its baselines, which must be right.  Every\n"
    "finding names the place and the fix.";

static const char describe_task_detail[] =
    "Makes a task of the problem in FOLDER, whose inputs and reference are in Python: runs them "
    "in\n"
    "a jail as FOLDER/problem.json says, and writes FOLDER/task.json.  The interpreter needs what\n"
    "the problem imports.";

static const char recording_show_detail[] =
    "Prints what is in a recording: calls, nodes, arguments, images.  FILE may be hostile;\n"
    "nothing in it is run.";

static const char doctor_detail[] =
    "Tells what this machine can do: devices, compilers, sandbox mechanisms, clocks.  Each line\n"
    "that is not ok says how to fix it.";

static const char db_backup_detail[] =
    "Copies the database of kgraded into the new file FILE, which it checks.  kgraded may go on\n"
    "using it; the copy is of one moment.  To restore: stop kgraded, put the copy in place of the\n"
    "database, remove the files beside it that end in -wal and -shm, start kgraded.";

static const char db_check_detail[] =
    "Examines the database of kgraded from end to end, which takes a while for a large one.\n"
    "Changes nothing; kgraded may go on using it.";

static const enum option_id grade_options[] = {
    OPTION_TASK,   OPTION_DEVICE,     OPTION_LANGUAGE,  OPTION_JSON,        OPTION_RECORDING,
    OPTION_REPORT, OPTION_ISOLATION,  OPTION_PRECISION, OPTION_MAX_SAMPLES, OPTION_PROFILE,
    OPTION_SERVER, OPTION_TOKEN_FILE, OPTION_REUSE,     OPTION_END};
static const enum option_id replay_options[] = {
    OPTION_TASK,      OPTION_JSON,        OPTION_REPORT, OPTION_ISOLATION,
    OPTION_PRECISION, OPTION_MAX_SAMPLES, OPTION_END};
static const enum option_id profile_options[] = {OPTION_TASK,    OPTION_DEVICE,    OPTION_LANGUAGE,
                                                 OPTION_JSON,    OPTION_JSONL,     OPTION_TRACE,
                                                 OPTION_CONTROL, OPTION_ISOLATION, OPTION_END};
static const enum option_id compare_options[] = {
    OPTION_TASK,      OPTION_DEVICE,      OPTION_LANGUAGE,  OPTION_JSON,
    OPTION_PRECISION, OPTION_MAX_SAMPLES, OPTION_ISOLATION, OPTION_END};
static const enum option_id regrade_options[] = {
    OPTION_OUT,         OPTION_PLAN,   OPTION_TASK,       OPTION_DEVICE,
    OPTION_ONLY,        OPTION_SAMPLE, OPTION_RETRY,      OPTION_FROM_RECORDINGS,
    OPTION_FORMAT,      OPTION_JSON,   OPTION_ISOLATION,  OPTION_PRECISION,
    OPTION_MAX_SAMPLES, OPTION_SERVER, OPTION_TOKEN_FILE, OPTION_PYTHON_SPARES,
    OPTION_END};
static const enum option_id server_options[] = {OPTION_SERVER, OPTION_TOKEN_FILE, OPTION_JSON,
                                                OPTION_END};
static const enum option_id leaderboard_options[] = {OPTION_SERVER, OPTION_TOKEN_FILE,
                                                     OPTION_DEVICE, OPTION_JSON, OPTION_END};
static const enum option_id json_option[] = {OPTION_JSON, OPTION_END};
static const enum option_id new_options[] = {OPTION_DEVICE, OPTION_LANGUAGE, OPTION_OUTPUT,
                                             OPTION_END};
static const enum option_id doctor_options[] = {OPTION_JSON, OPTION_ISOLATION, OPTION_END};
static const enum option_id check_task_options[] = {OPTION_MAX_SAMPLES, OPTION_JSON,
                                                    OPTION_ISOLATION, OPTION_END};
static const enum option_id describe_task_options[] = {OPTION_DEVICE, OPTION_ISOLATION, OPTION_END};
static const enum option_id recording_show_options[] = {OPTION_JSON, OPTION_DOT, OPTION_END};

const struct command commands[] = {
    {"grade", "FILE... --task TASK ", "grade a candidate", grade_detail, 1, grade_options,
     command_grade},
    {"tasks", "", "list the tasks", tasks_detail, 0, json_option, command_tasks},
    {"show", "TASK ", "print a task's statement", show_detail, 1, json_option, command_show},
    {"new", "TASK ", "print a source file to start from", new_detail, 1, new_options, command_new},
    {"check-task", "FOLDER ", "examine a task before it is used", check_task_detail, 1,
     check_task_options, command_check_task},
    {"describe-task", "FOLDER ", "make a task of a problem in Python", describe_task_detail, 1,
     describe_task_options, command_describe_task},
    {"recording show", "FILE ", "print what is in a recording", recording_show_detail, 1,
     recording_show_options, command_recording_show},
    {"replay", "RECORDING --task TASK ", "grade a recording again", replay_detail, 1,
     replay_options, command_replay},
    {"profile", "FILE... --task TASK ", "tell where a candidate's host time goes", profile_detail,
     1, profile_options, command_profile},
    {"compare", "A B --task TASK ", "tell which of two candidates is faster, and by what",
     compare_detail, 2, compare_options, command_compare},
    {"regrade report", "DIR ", "write what a regrade has found", regrade_report_detail, 1,
     json_option, command_regrade_report},
    {"regrade", "[SOURCE...] ", "grade the entries of a leaderboard", regrade_detail, 0,
     regrade_options, command_regrade},
    {"status", "ID ", "tell how far a grade on a server is", status_detail, 1, server_options,
     command_status},
    {"watch", "ID ", "follow a grade on a server", watch_detail, 1, server_options, command_watch},
    {"cancel", "ID ", "end a grade on a server", cancel_detail, 1, server_options, command_cancel},
    {"leaderboard", "TASK ", "print a server's ranking", leaderboard_detail, 1, leaderboard_options,
     command_leaderboard},
    {"doctor", "", "tell what this machine can do", doctor_detail, 0, doctor_options,
     command_doctor},
    {"db backup", "DATABASE FILE ", "copy the database of kgraded", db_backup_detail, 2,
     json_option, command_db_backup},
    {"db check", "DATABASE ", "examine the database of kgraded", db_check_detail, 1, json_option,
     command_db_check},
    {0},
};

/* Finds the command that argv[0], argv[1] name; *ret_words tells how many words it took. */
static const struct command *find_command(int argc, char **argv, int *ret_words)
{
    for (const struct command *c = commands; c->name; c++) {
        const char *space = strchr(c->name, ' ');
        size_t first = space ? (size_t)(space - c->name) : strlen(c->name);
        if (strlen(argv[0]) != first || strncmp(argv[0], c->name, first) != 0)
            continue;
        if (space && (argc < 2 || strcmp(argv[1], space + 1) != 0))
            continue;
        *ret_words = space ? 2 : 1;
        return c;
    }
    return NULL;
}

/* About the second word of a command that needs one; CLI_ACCEPTED when the first one needs none. */
static enum cli_exit complain_second_word(int argc, char **argv)
{
    const char *names[8];
    size_t n = 0;
    char list[128] = "";
    size_t first = strlen(argv[0]), used = 0;
    for (const struct command *c = commands; c->name && n + 1 < sizeof names / sizeof names[0];
         c++) {
        if (strncmp(c->name, argv[0], first) != 0 || c->name[first] != ' ' || used >= sizeof list)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%skgrade %s", n ? ", " : "",
                                 c->name);
        names[n++] = c->name + first + 1;
    }
    if (!n)
        return CLI_ACCEPTED;
    names[n] = NULL;
    if (argc < 2 || argv[1][0] == '-')
        return options_complain(NULL, "%s needs another word: %s", argv[0], list);
    const char *nearest = text_nearest(argv[1], names);
    return options_complain(NULL, "There is no command %s %s; did you mean %s %s?", argv[0],
                            argv[1], argv[0], nearest ? nearest : names[0]);
}

static enum cli_exit complain_command(int argc, char **argv)
{
    const char *names[32];
    size_t n = 0;
    char words[128];
    enum cli_exit status = complain_second_word(argc, argv);
    if (status != CLI_ACCEPTED)
        return status;
    for (const struct command *c = commands; c->name && n + 1 < sizeof names / sizeof names[0]; c++)
        names[n++] = c->name;
    names[n] = NULL;
    snprintf(words, sizeof words, "%s", argv[0]);
    const char *nearest = text_nearest(words, names);
    if (nearest)
        return options_complain(NULL, "There is no command %s; did you mean %s?", argv[0], nearest);
    return options_complain(NULL, "There is no command %s.", argv[0]);
}

static enum cli_exit run(int argc, char **argv)
{
    struct cli cli = {0};
    int next;
    if (options_parse(NULL, argc, argv, &cli, &next))
        return CLI_USAGE;
    if (cli.version) {
        printf("kgrade %s\n", kgrade_version());
        return CLI_ACCEPTED;
    }
    if (cli.help) {
        options_print_help(NULL);
        return CLI_ACCEPTED;
    }
    if (next >= argc)
        return options_complain(NULL, "Say what to do, for example: kgrade tasks");

    int words;
    const struct command *command = find_command(argc - next, argv + next, &words);
    if (!command)
        return complain_command(argc - next, argv + next);

    /* The last word of the command takes the place of the program's name. */
    argv += next + words - 1;
    argc -= next + words - 1;
    if (options_parse(command, argc, argv, &cli, &next))
        return CLI_USAGE;
    if (cli.help) {
        options_print_help(command);
        return CLI_ACCEPTED;
    }
    cli.arguments = argv + next;
    cli.n_arguments = argc - next;
    if (cli.n_arguments < command->n_arguments)
        return options_complain(command->name, "%s needs %s", command->name, command->arguments);
    if (cli.n_arguments > command->n_arguments && !strstr(command->arguments, "..."))
        return options_complain(command->name, "%s was not expected.",
                                cli.arguments[command->n_arguments]);
    python_settle(&cli);
    return command->run(&cli);
}

int main(int argc, char **argv)
{
    enum cli_exit status = run(argc, argv);
    /* A result that did not reach its reader must not look like success. */
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "kgrade: Cannot write the output: %s\n", strerror(errno));
        return CLI_INFRASTRUCTURE;
    }
    return (int)status;
}
