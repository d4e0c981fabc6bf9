/* `kgrade profile`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "cli.h"
#include "profile.h"
#include "progress.h"
#include "sources.h"
#include "text.h"
#include "view.h"

static void print_lines(const json_t *report)
{
    size_t i;
    json_t *row;
    json_array_foreach(view_at(report, "rows"), i, row)
    {
        cleanup_free char *line = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(17));
        if (line)
            puts(line);
    }
    profile_print_errors(stderr, report);
}

static enum cli_exit write_trace(const struct cli *cli, const json_t *report)
{
    kgrade_error error = {0};
    cleanup_free char *text =
        json_dumps(json_object_get(report, "trace"), JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (text && !io_write_file(cli->trace, text, strlen(text), &error))
        return CLI_ACCEPTED;
    if (!text)
        fail(&error, "out_of_memory", NULL, "There is no memory for the trace.");
    cli_print_error(&error);
    return CLI_INFRASTRUCTURE;
}

static enum cli_exit exit_of(const json_t *report)
{
    const char *verdict = view_string(report, "reason.verdict");
    if (verdict)
        return cli_exit_of(verdict);
    return json_array_size(view_at(report, "errors")) ? CLI_NOT_ACCEPTED : CLI_ACCEPTED;
}

static enum cli_exit show(const struct cli *cli, const char *text)
{
    json_error_t where;
    json_auto_t *report = json_loads(text, 0, &where);
    if (!report) {
        fprintf(stderr, "kgrade: The report is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    enum cli_exit status = exit_of(report);
    if (cli->trace && !view_at(report, "reason")) {
        enum cli_exit written = write_trace(cli, report);
        status = written > status ? written : status;
    }
    json_object_del(report, "trace");
    if (cli->jsonl) {
        print_lines(report);
        if (view_at(report, "reason")) {
            fputs("kgrade: ", stderr);
            text_print_inline(stderr, view_string(report, "reason.message"));
            fprintf(stderr, " [%s]\n", view_string(report, "reason.code"));
        }
    } else if (cli->json) {
        cleanup_free char *whole = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        puts(whole ? whole : "");
    } else {
        profile_print(report);
    }
    return status;
}

static enum cli_exit carry_out(const struct cli *cli, const kgrade_request *request,
                               char **ret_text)
{
    progress_catch_signals();
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(cli, &status);
    if (!engine)
        return status;
    const kgrade_profile_options options = {.trace = cli->trace != NULL, .control = cli->control};
    kgrade_error error = {0};
    int failed;
    {
        cleanup_progress struct progress *progress = progress_start();
        failed =
            kgrade_profile(engine, request, &options, progress_report, progress, ret_text, &error);
    }
    if (!failed)
        return CLI_ACCEPTED;
    if (progress_signal()) {
        fputs("kgrade: Stopped; nothing was profiled.\n", stderr);
        return CLI_INFRASTRUCTURE;
    }
    cli_print_error(&error);
    return strcmp(error.code, "out_of_memory") ? CLI_USAGE : CLI_INFRASTRUCTURE;
}

enum cli_exit command_profile(const struct cli *cli)
{
    kgrade_error error = {0};
    if (!cli->task)
        return options_complain("profile",
                                "Say which task it is for: --task TASK (kgrade tasks lists them)");
    if (cli->json && cli->jsonl)
        return options_complain("profile", "Choose one of --json and --jsonl.");
    if (cli->trace && access(cli->trace, F_OK) == 0) {
        fail(&error, "file_exists", "Choose another name, or remove the file first.",
             "%s exists and is not overwritten.", cli->trace);
        cli_print_error(&error);
        return CLI_USAGE;
    }
    cleanup_bytes struct bytes source = {0};
    if (sources_read(cli->arguments, (size_t)cli->n_arguments, &source, &error)) {
        cli_print_error(&error);
        return CLI_USAGE;
    }
    const kgrade_request request = {
        .task = cli->task,
        .device = cli->device ? cli->device : CLI_DEFAULT_DEVICE,
        .language = cli_language(cli, cli->arguments[0]),
        .source = (const char *)source.data,
        .source_size = source.size,
    };
    cleanup_free char *text = NULL;
    enum cli_exit status = carry_out(cli, &request, &text);
    if (text)
        return show(cli, text);
    if (progress_signal())
        progress_die_of_signal();
    return status;
}
