/* The commands but grade and replay. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "cli.h"
#include "progress.h"
#include "text.h"

void cli_print_error(const kgrade_error *error)
{
    fprintf(stderr, "%skgrade:%s ", text_colour(stderr, TEXT_RED), text_colour(stderr, TEXT_RESET));
    text_print_inline(stderr, error->message);
    fprintf(stderr, " [%s]\n", error->code);
    if (error->hint[0])
        text_print_foreign(stderr, "        ", error->hint);
}

kgrade *cli_open(const struct cli *cli, enum cli_exit *ret_exit)
{
    kgrade *engine = NULL;
    kgrade_error error = {0};
    if (!kgrade_open(&cli->options, &engine, &error))
        return engine;
    cli_print_error(&error);
    bool named = cli->options.tasks &&
                 (!strcmp(error.code, "tasks_unreadable") || !strcmp(error.code, "task_invalid"));
    named = named || !strcmp(error.code, "python_invalid");
    *ret_exit = named ? CLI_USAGE : CLI_INFRASTRUCTURE;
    return NULL;
}

static enum cli_exit complain(const kgrade_error *error, enum cli_exit status)
{
    cli_print_error(error);
    return status;
}

/* Prints the library's JSON as it is, or hands it to `describe`. */
static enum cli_exit print(const struct cli *cli, const char *text,
                           void (*describe)(const json_t *))
{
    if (cli->json) {
        puts(text);
        return CLI_ACCEPTED;
    }
    json_error_t where;
    json_auto_t *json = json_loads(text, 0, &where);
    if (!json) {
        fprintf(stderr, "kgrade: The answer is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    describe(json);
    return CLI_ACCEPTED;
}

/* Options for commands that start no jail: a machine without the full sandbox can still list tasks.
 */
static struct cli without_jails(const struct cli *cli)
{
    struct cli copy = *cli;
    copy.options.allow_reduced = true;
    return copy;
}

enum cli_exit command_tasks(const struct cli *cli)
{
    struct cli relaxed = without_jails(cli);
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(&relaxed, &status);
    if (!engine)
        return status;
    cleanup_free char *text = NULL;
    kgrade_error error = {0};
    if (kgrade_tasks_json(engine, &text, &error))
        return complain(&error, CLI_INFRASTRUCTURE);
    return print(cli, text, describe_tasks);
}

enum cli_exit command_show(const struct cli *cli)
{
    struct cli relaxed = without_jails(cli);
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(&relaxed, &status);
    if (!engine)
        return status;
    cleanup_free char *text = NULL;
    kgrade_error error = {0};
    if (kgrade_task_json(engine, cli->arguments[0], &text, &error))
        return complain(&error, CLI_USAGE);
    return print(cli, text, describe_task);
}

/* Writes a file that must not exist yet. */
static int write_new_file(const char *path, const char *text, kgrade_error *error)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST)
        return fail(error, "file_exists", "Choose another name, or remove the file first.",
                    "%s exists and is not overwritten.", path);
    if (fd < 0)
        return fail_errno(error, "file_unwritable", NULL, "Cannot create %s", path);
    if (!io_write_full(fd, text, strlen(text), IO_NO_DEADLINE, error))
        return 0;
    unlink(path);
    return -1;
}

enum cli_exit command_new(const struct cli *cli)
{
    struct cli relaxed = without_jails(cli);
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(&relaxed, &status);
    if (!engine)
        return status;
    cleanup_free char *source = NULL;
    kgrade_error error = {0};
    const char *task = cli->arguments[0];
    if (kgrade_task_skeleton(engine, task, cli->device ? cli->device : CLI_DEFAULT_DEVICE,
                             cli->output ? cli_language(cli, cli->output) : cli->language, &source,
                             &error))
        return complain(&error, CLI_USAGE);
    if (!cli->output || !strcmp(cli->output, "-")) {
        fputs(source, stdout);
        return CLI_ACCEPTED;
    }
    if (write_new_file(cli->output, source, &error))
        return complain(&error, CLI_USAGE);
    fprintf(stderr, "Wrote %s.  Fill it in, then: kgrade grade %s --task %s\n", cli->output,
            cli->output, task);
    return CLI_ACCEPTED;
}

enum cli_exit command_check_task(const struct cli *cli)
{
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(cli, &status);
    if (!engine)
        return status;
    bool passed = false;
    cleanup_free char *text = NULL;
    kgrade_error error = {0};
    if (kgrade_check_task(engine, cli->arguments[0], &passed, &text, &error))
        return complain(&error, CLI_USAGE);
    status = passed ? CLI_ACCEPTED : CLI_NOT_ACCEPTED;
    if (cli->json) {
        puts(text);
        return status;
    }
    json_error_t where;
    json_auto_t *report = json_loads(text, 0, &where);
    if (!report) {
        fprintf(stderr, "kgrade: The answer is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    describe_findings(report, passed);
    return status;
}

static enum cli_exit describe_folder(const struct cli *cli, const char *folder)
{
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(cli, &status);
    if (!engine)
        return status;
    kgrade_error error = {0};
    int failed;
    {
        cleanup_progress struct progress *progress = progress_start();
        failed =
            kgrade_describe_task(engine, folder, cli->device ? cli->device : CLI_DEFAULT_DEVICE,
                                 progress_report, progress, &error);
    }
    if (failed)
        return complain(&error, CLI_NOT_ACCEPTED);
    fprintf(stderr, "Wrote %s/task.json.  Then: kgrade check-task %s\n", folder, folder);
    return CLI_ACCEPTED;
}

enum cli_exit command_describe_task(const struct cli *cli)
{
    progress_catch_signals();
    enum cli_exit status = describe_folder(cli, cli->arguments[0]);
    /* The engine is closed by now; what it left would stay otherwise. */
    if (progress_signal() && status != CLI_ACCEPTED)
        progress_die_of_signal();
    return status;
}

enum cli_exit command_recording_show(const struct cli *cli)
{
    if (cli->json && cli->dot)
        return options_complain("recording show", "Choose one of --json and --dot.");
    cleanup_bytes struct bytes recording = {0};
    kgrade_error error = {0};
    if (io_read_file(cli->arguments[0], CLI_MAX_RECORDING_BYTES, &recording, &error))
        return complain(&error, CLI_USAGE);
    cleanup_free char *text = NULL;
    if (kgrade_recording_show(recording.data, recording.size, cli->dot, &text, &error))
        return complain(&error, CLI_USAGE);
    if (cli->dot) {
        fputs(text, stdout);
        return CLI_ACCEPTED;
    }
    return print(cli, text, describe_recording);
}

enum cli_exit command_doctor(const struct cli *cli)
{
    cleanup_free char *text = NULL;
    kgrade_error error = {0};
    if (kgrade_doctor(&cli->options, &text, &error))
        return complain(&error, CLI_INFRASTRUCTURE);
    json_error_t where;
    json_auto_t *report = json_loads(text, 0, &where);
    if (!report) {
        fprintf(stderr, "kgrade: The answer is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    if (cli->json)
        puts(text);
    else
        describe_doctor(report);
    return doctor_ready(report) ? CLI_ACCEPTED : CLI_NOT_ACCEPTED;
}
