/* `kgrade grade` and `kgrade replay`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "cli.h"
#include "profile.h"
#include "progress.h"
#include "remote/commands.h"
#include "report/report.h"
#include "sources.h"

static void free_result(kgrade_result **result)
{
    kgrade_result_free(*result);
}
#define cleanup_result __attribute__((cleanup(free_result)))

enum cli_exit cli_exit_of(const char *verdict)
{
    if (!verdict)
        return CLI_NOT_ACCEPTED;
    if (!strcmp(verdict, kgrade_verdict_name(KGRADE_ACCEPTED)))
        return CLI_ACCEPTED;
    return strcmp(verdict, kgrade_verdict_name(KGRADE_INFRASTRUCTURE_ERROR)) ? CLI_NOT_ACCEPTED
                                                                             : CLI_INFRASTRUCTURE;
}

static enum cli_exit keep_recording(const char *path, const kgrade_result *result)
{
    size_t size = 0;
    const void *data = kgrade_result_recording(result, &size);
    if (!data) {
        fprintf(stderr,
                "kgrade: %s was not written: the grade did not get as far as a recording.\n", path);
        return CLI_ACCEPTED;
    }
    kgrade_error error;
    if (!io_write_file(path, data, size, &error))
        return CLI_ACCEPTED;
    cli_print_error(&error);
    return CLI_INFRASTRUCTURE;
}

/* The graph of the recording as JSON, for the report; NULL: there is none, or it cannot be shown. */
static json_t *graph_of(const kgrade_result *result)
{
    size_t size = 0;
    const void *data = kgrade_result_recording(result, &size);
    cleanup_free char *text = NULL;
    if (!data || kgrade_recording_show(data, size, false, &text, NULL))
        return NULL;
    return json_loads(text, 0, NULL);
}

/* The request that is graded: a source or a recording. */
struct work {
    const kgrade_request *request;
    const struct bytes *recording;
};

static enum cli_exit carry_out(const struct cli *cli, const struct work *work, char **ret_json,
                               json_t **ret_graph)
{
    progress_catch_signals();
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(cli, &status);
    if (!engine)
        return status;
    cleanup_result kgrade_result *result = NULL;
    kgrade_error error = {0};
    int failed;
    {
        cleanup_progress struct progress *progress = progress_start();
        failed =
            work->request
                ? kgrade_grade(engine, work->request, progress_report, progress, &result, &error)
                : kgrade_replay(engine, cli->task, work->recording->data, work->recording->size,
                                progress_report, progress, &result, &error);
    }
    /* A terminal sends its signal to the whole foreground group: what then looks like a broken
     * infrastructure is the wish to stop. */
    if (progress_signal() &&
        (failed || kgrade_result_verdict(result) == KGRADE_INFRASTRUCTURE_ERROR)) {
        fputs("kgrade: Stopped; nothing was graded.\n", stderr);
        return CLI_INFRASTRUCTURE;
    }
    if (failed) {
        cli_print_error(&error);
        return !strcmp(error.code, "out_of_memory") ? CLI_INFRASTRUCTURE : CLI_USAGE;
    }
    status = cli_exit_of(kgrade_verdict_name(kgrade_result_verdict(result)));
    if (cli->recording) {
        enum cli_exit kept = keep_recording(cli->recording, result);
        status = kept > status ? kept : status;
    }
    if (cli->report)
        *ret_graph = graph_of(result);
    *ret_json = strdup(kgrade_result_json(result));
    if (!*ret_json) {
        fputs("kgrade: There is no memory for the result.\n", stderr);
        return CLI_INFRASTRUCTURE;
    }
    return status;
}

/* Prints the result and writes the report as the options say; status when that went well. */
static enum cli_exit show(const struct cli *cli, const char *json, const json_t *graph,
                          enum cli_exit status)
{
    if (cli->json)
        puts(json);
    if (cli->json && !cli->report)
        return status;
    json_error_t where;
    json_auto_t *result = json_loads(json, 0, &where);
    if (!result) {
        fprintf(stderr, "kgrade: The result is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    if (!cli->json) {
        table_print_result(result);
        profile_print_of(result);
    }
    kgrade_error error = {0};
    if (cli->report && report_write(cli->report, result, graph, &error)) {
        cli_print_error(&error);
        return CLI_INFRASTRUCTURE;
    }
    return status;
}

static enum cli_exit run(const struct cli *cli, const struct work *work)
{
    cleanup_free char *json = NULL;
    json_auto_t *graph = NULL;
    kgrade_error error = {0};
    /* Better said before the grade than after it. */
    if (cli->report && report_check(cli->report, &error)) {
        cli_print_error(&error);
        return CLI_USAGE;
    }
    enum cli_exit status = work->request && remote_server(cli)
                               ? remote_grade(cli, work->request, &json)
                               : carry_out(cli, work, &json, &graph);
    if (!json) {
        /* The engine is closed by now; what it left would stay otherwise. */
        if (progress_signal())
            progress_die_of_signal();
        return status;
    }
    return show(cli, json, graph, status);
}

static enum cli_exit need_task(const char *command)
{
    return options_complain(command,
                            "Say which task it is for: --task TASK (kgrade tasks lists them)");
}

enum cli_exit command_grade(const struct cli *cli)
{
    if (!cli->task)
        return need_task("grade");
    if (remote_server(cli) && cli->local_only)
        return options_complain("grade", "%s is for grading on this machine, without --server.",
                                cli->local_only);
    cleanup_bytes struct bytes source = {0};
    kgrade_error error;
    if (sources_read(cli->arguments, (size_t)cli->n_arguments, &source, &error)) {
        cli_print_error(&error);
        return CLI_USAGE;
    }
    kgrade_request request = {
        .task = cli->task,
        .device = cli->device ? cli->device : CLI_DEFAULT_DEVICE,
        .language = cli_language(cli, cli->arguments[0]),
        .source = (const char *)source.data,
        .source_size = source.size,
        .profile = cli->profile,
    };
    return run(cli, &(struct work){.request = &request});
}

enum cli_exit command_replay(const struct cli *cli)
{
    if (!cli->task)
        return need_task("replay");
    cleanup_bytes struct bytes recording = {0};
    kgrade_error error;
    if (sources_read_input(cli->arguments[0], CLI_MAX_RECORDING_BYTES, &recording, &error)) {
        cli_print_error(&error);
        return CLI_USAGE;
    }
    return run(cli, &(struct work){.recording = &recording});
}
