/* `kgrade compare`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"
#include "compare.h"
#include "progress.h"
#include "sources.h"
#include "view.h"

static enum cli_exit show(const struct cli *cli, const char *text)
{
    json_error_t where;
    json_auto_t *report = json_loads(text, 0, &where);
    if (!report) {
        fprintf(stderr, "kgrade: The report is not JSON: %s\n", where.text);
        return CLI_INFRASTRUCTURE;
    }
    if (cli->json)
        puts(text);
    else
        compare_print(report);
    const char *failed = view_string(report, "reason.verdict");
    const char *verdict = view_string(report, "verdict");
    if (failed)
        return cli_exit_of(failed);
    return verdict && strcmp(verdict, "unresolved") ? CLI_ACCEPTED : CLI_NOT_ACCEPTED;
}

static enum cli_exit carry_out(const struct cli *cli, const kgrade_request sides[2],
                               char **ret_text)
{
    progress_catch_signals();
    enum cli_exit status = CLI_INFRASTRUCTURE;
    cleanup_engine kgrade *engine = cli_open(cli, &status);
    if (!engine)
        return status;
    kgrade_error error = {0};
    int failed;
    {
        cleanup_progress struct progress *progress = progress_start();
        failed = kgrade_compare(engine, &sides[0], &sides[1], progress_report, progress, ret_text,
                                &error);
    }
    if (!failed)
        return CLI_ACCEPTED;
    if (progress_signal()) {
        fputs("kgrade: Stopped; nothing was compared.\n", stderr);
        return CLI_INFRASTRUCTURE;
    }
    cli_print_error(&error);
    return strcmp(error.code, "out_of_memory") ? CLI_USAGE : CLI_INFRASTRUCTURE;
}

enum cli_exit command_compare(const struct cli *cli)
{
    kgrade_error error = {0};
    kgrade_request sides[2];
    cleanup_bytes struct bytes a = {0}, b = {0};
    struct bytes *sources[] = {&a, &b};
    if (!cli->task)
        return options_complain(
            "compare", "Say which task they are for: --task TASK (kgrade tasks lists them)");
    for (int i = 0; i < 2; i++) {
        if (sources_read(cli->arguments + i, 1, sources[i], &error)) {
            cli_print_error(&error);
            return CLI_USAGE;
        }
        sides[i] = (kgrade_request){
            .task = cli->task,
            .device = cli->device ? cli->device : CLI_DEFAULT_DEVICE,
            .language = cli_language(cli, cli->arguments[i]),
            .source = (const char *)sources[i]->data,
            .source_size = sources[i]->size,
        };
    }
    cleanup_free char *text = NULL;
    enum cli_exit status = carry_out(cli, sides, &text);
    if (text)
        return show(cli, text);
    if (progress_signal())
        progress_die_of_signal();
    return status;
}
