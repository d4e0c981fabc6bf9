/* `kgrade compare`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"
#include "grid.h"
#include "progress.h"
#include "sources.h"
#include "text.h"
#include "view.h"

static void add_row(struct grid *grid, const char *name, const json_t *at)
{
    grid_next_row(grid);
    grid_set(grid, 0, "%s", name);
    if (view_at(at, "a_ns")) {
        grid_set(grid, 1, "%s", text_time(view_number(at, "a_ns")).text);
        grid_set(grid, 2, "%s", text_time(view_number(at, "b_ns")).text);
    }
    grid_set(grid, 3, "%.3f", view_number(at, "ratio.value"));
    grid_set(grid, 4, "%.3f\342\200\223%.3f", view_number(at, "ratio.low"),
             view_number(at, "ratio.high"));
    if (view_at(at, "margin"))
        grid_set(grid, 5, "%.0f %%", 100 * view_number(at, "margin"));
}

static void print_table(const json_t *report)
{
    static const char *const heads[] = {"", "A", "B", "A / B", "95 %", "margin"};
    struct grid grid = {.left = 1};
    size_t i;
    json_t *one;
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        grid_set(&grid, k, "%s", heads[k]);
    json_array_foreach(view_at(report, "kernel.cases"), i, one)
    {
        cleanup_free char *dims = view_assignments(view_at(one, "dims"));
        char name[128];
        snprintf(name, sizeof name, "kernel, %s", dims ? dims : "?");
        add_row(&grid, name, one);
    }
    add_row(&grid, "kernel, all cases", view_at(report, "kernel"));
    add_row(&grid, "launch path", view_at(report, "launch_path"));
    json_array_foreach(view_at(report, "kernel.cases"), i, one)
    {
        const char *doubt = view_string(one, "doubt");
        if (doubt)
            text_print_foreign(stdout, "  in doubt: ", doubt);
    }
    putchar('\n');
    grid_print(&grid, stdout, text_terminal_columns(stdout));
    grid_free(&grid);
}

static void print_report(const json_t *report)
{
    const json_t *reason = view_at(report, "reason");
    const char *verdict = view_string(report, "verdict");
    if (!reason) {
        printf("B against A: %s%s%s\n", text_colour(stdout, TEXT_BOLD), verdict ? verdict : "?",
               text_colour(stdout, TEXT_RESET));
        print_table(report);
        return;
    }
    const char *message = view_string(reason, "message"), *code = view_string(reason, "code");
    const char *hint = view_string(reason, "hint"), *log = view_string(reason, "log");
    printf("%sNot compared:%s ", text_colour(stdout, TEXT_RED), text_colour(stdout, TEXT_RESET));
    text_print_inline(stdout, message ? message : "");
    printf(" [%s]\n", code ? code : "?");
    if (hint)
        text_print_foreign(stdout, "  ", hint);
    if (log)
        text_print_foreign(stdout, "  | ", log);
}

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
        print_report(report);
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
            .language = cli->language,
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
