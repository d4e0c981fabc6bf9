#define _GNU_SOURCE
#include "commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../grid.h"
#include "../profile.h"
#include "../progress.h"
#include "../text.h"
#include "../view.h"

#define SHOWN_HASH 12

static struct remote *open_or_complain(const struct cli *cli, const char *command,
                                       enum cli_exit *ret_exit)
{
    struct remote *remote = NULL;
    kgrade_error error;
    *ret_exit = CLI_USAGE;
    if (!remote_server(cli))
        options_complain(command, "Say which server: --server URL, or KGRADE_SERVER=URL");
    else if (remote_open(cli, &remote, &error))
        cli_print_error(&error);
    return remote;
}

static enum cli_exit complain(const struct remote *remote, const kgrade_error *error)
{
    if (strcmp(error->code, "interrupted") != 0)
        cli_print_error(error);
    return remote_blame(remote);
}

/* Follows with the moving line. */
static int follow(struct remote *remote, const char *id, json_t **ret, kgrade_error *error)
{
    cleanup_progress struct progress *progress = progress_start();
    return remote_follow(remote, id, progress_report, progress, ret, error);
}

static void say_cancelled(const char *id, const json_t *grade)
{
    const char *why = view_string(grade, "reason.message");
    fprintf(stderr, "kgrade: The grade %s was cancelled%s", id, why ? ": " : ".\n");
    if (why) {
        text_print_inline(stderr, why);
        fputc('\n', stderr);
    }
}

enum cli_exit remote_grade(const struct cli *cli, const kgrade_request *request, char **ret_json)
{
    enum cli_exit status;
    progress_catch_signals();
    cleanup_remote struct remote *remote = open_or_complain(cli, "grade", &status);
    if (!remote)
        return status;
    char id[REMOTE_ID_SIZE];
    bool reused = false;
    kgrade_error error;
    if (remote_submit(remote, request, cli->reuse, id, &reused, &error))
        return complain(remote, &error);
    if (reused)
        fprintf(stderr, "kgrade: This is the earlier grade %s of the same source.\n", id);
    json_auto_t *grade = NULL;
    if (follow(remote, id, &grade, &error)) {
        json_auto_t *cancelled = NULL;
        kgrade_error ignored;
        if (progress_signal() && !remote_cancel(remote, id, &cancelled, &ignored))
            fputs("kgrade: Stopped; the grade was cancelled.\n", stderr);
        else
            fprintf(stderr, "kgrade: The grade goes on as %s; kgrade status %s tells about it.\n",
                    id, id);
        return complain(remote, &error);
    }
    const json_t *result = view_at(grade, "result");
    if (!result) {
        say_cancelled(id, grade);
        return CLI_INFRASTRUCTURE;
    }
    *ret_json = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
    return cli_exit_of(view_string(result, "verdict"));
}

static void print_json(const json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
}

/* A grade for people: the table of its result, or how far it is. */
static void print_grade(const json_t *grade)
{
    const json_t *result = view_at(grade, "result");
    if (result) {
        table_print_result(result);
        profile_print_of(result);
        return;
    }
    const char *state = view_string(grade, "state"), *id = view_string(grade, "id"),
               *step = view_string(grade, "step.name"), *why = view_string(grade, "reason.message");
    double ahead = view_number(grade, "ahead"), wait = view_number(grade, "estimate_s");
    printf("%s  %s", id ? id : "?", state ? state : "?");
    if (step && state && !strcmp(state, "running"))
        printf(", %s", step);
    if (ahead >= 0 && state && !strcmp(state, "queued"))
        printf(", %.0f ahead", ahead);
    if (wait > 0)
        printf(", about %.0f s left", ceil(wait));
    if (why) {
        fputs(": ", stdout);
        text_print_inline(stdout, why);
    }
    putchar('\n');
}

static enum cli_exit show_grade(const struct cli *cli, const json_t *grade)
{
    if (cli->json)
        print_json(grade);
    else
        print_grade(grade);
    const char *state = view_string(grade, "state");
    bool open = state && (!strcmp(state, "queued") || !strcmp(state, "running"));
    return open ? CLI_ACCEPTED : cli_exit_of(view_string(grade, "verdict"));
}

/* Ids come from people: only what can be one goes into a path. */
static bool is_id(const char *command, const char *id)
{
    if (*id && strlen(id) < REMOTE_ID_SIZE && strspn(id, "0123456789abcdef") == strlen(id))
        return true;
    options_complain(command, "\"%s\" is not the id of a grade, which is hexadecimal.", id);
    return false;
}

enum cli_exit command_status(const struct cli *cli)
{
    enum cli_exit status;
    if (!is_id("status", cli->arguments[0]))
        return CLI_USAGE;
    cleanup_remote struct remote *remote = open_or_complain(cli, "status", &status);
    if (!remote)
        return status;
    char path[128];
    snprintf(path, sizeof path, "/grades/%s", cli->arguments[0]);
    json_auto_t *grade = NULL;
    kgrade_error error;
    if (remote_get(remote, path, &grade, &error))
        return complain(remote, &error);
    return show_grade(cli, grade);
}

enum cli_exit command_watch(const struct cli *cli)
{
    enum cli_exit status;
    if (!is_id("watch", cli->arguments[0]))
        return CLI_USAGE;
    progress_catch_signals();
    cleanup_remote struct remote *remote = open_or_complain(cli, "watch", &status);
    if (!remote)
        return status;
    json_auto_t *grade = NULL;
    kgrade_error error;
    if (follow(remote, cli->arguments[0], &grade, &error)) {
        status = complain(remote, &error);
        if (progress_signal()) {
            fputs("kgrade: Stopped watching; the grade goes on.\n", stderr);
            progress_die_of_signal();
        }
        return status;
    }
    return show_grade(cli, grade);
}

enum cli_exit command_cancel(const struct cli *cli)
{
    enum cli_exit status;
    if (!is_id("cancel", cli->arguments[0]))
        return CLI_USAGE;
    cleanup_remote struct remote *remote = open_or_complain(cli, "cancel", &status);
    if (!remote)
        return status;
    json_auto_t *answer = NULL;
    kgrade_error error;
    if (remote_cancel(remote, cli->arguments[0], &answer, &error))
        return complain(remote, &error);
    if (cli->json) {
        print_json(answer);
    } else {
        printf("%s  %s\n", cli->arguments[0],
               view_string(answer, "state") ? view_string(answer, "state") : "cancelled");
    }
    return CLI_ACCEPTED;
}

/* "refused, wrong_answer" for an entry that no grade of which was accepted, else who sent the same. */
static void set_note(struct grid *grid, const json_t *entry)
{
    char note[TEXT_SHORT] = "";
    const char *verdict;
    json_t *count;
    if (view_number(entry, "same_source") > 0)
        snprintf(note, sizeof note, "same source: group %.0f", view_number(entry, "same_source"));
    if (!(view_number(entry, "rank") > 0))
        json_object_foreach(view_members(view_at(entry, "verdicts")), verdict, count)
        {
            size_t used = strlen(note);
            snprintf(note + used, sizeof note - used, "%s%s", used ? ", " : "", verdict);
        }
    grid_set(grid, 7, "%s", note);
}

static void print_entry(struct grid *grid, const json_t *entry)
{
    double rank = view_number(entry, "rank"), tie = view_number(entry, "tie"),
           low = view_number(entry, "score_low"), high = view_number(entry, "score_high"),
           grades = view_number(entry, "grades");
    const char *owner = view_string(entry, "owner"), *source = view_string(entry, "source_hash"),
               *latest = view_string(entry, "latest_at");
    if (rank > 0) {
        grid_set(grid, 0, "%.0f%s", tie > 0 ? tie : rank, tie > 0 && tie < rank ? "=" : "");
        grid_set(grid, 1, "%.3f", view_number(entry, "score"));
    }
    if (isfinite(low) && isfinite(high))
        grid_set(grid, 2, "%.3f–%.3f", low, high);
    grid_set(grid, 3, "%s", owner ? owner : "");
    grid_set(grid, 4, "%.*s", SHOWN_HASH, source ? source : "");
    grid_set(grid, 5, "%.0f", grades > 0 ? grades : 0);
    grid_set(grid, 6, "%s", latest ? latest : "");
    set_note(grid, entry);
}

static void print_leaderboard(const json_t *board)
{
    struct grid grid = {.columns = 8, .rows = 1, .left = 0};
    static const char *const headings[] = {"rank",   "score",  "95 % interval", "owner",
                                           "source", "grades", "latest",        "note"};
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        grid_set(&grid, i, "%s", headings[i]);
    const json_t *entries = view_at(board, "entries");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        grid_next_row(&grid);
        print_entry(&grid, json_array_get(entries, i));
    }
    grid_print(&grid, stdout, text_terminal_columns(stdout));
    grid_free(&grid);
    if (!json_array_size(entries))
        puts("Nothing has been graded yet.");
    else if (view_number(board, "total") > (double)json_array_size(entries))
        printf("%.0f entries in all.\n", view_number(board, "total"));
}

enum cli_exit command_leaderboard(const struct cli *cli)
{
    enum cli_exit status;
    const char *task = cli->arguments[0];
    if (strspn(task, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            strlen(task) ||
        strlen(task) > 64)
        return options_complain("leaderboard", "\"%s\" is not the name of a task.", task);
    cleanup_remote struct remote *remote = open_or_complain(cli, "leaderboard", &status);
    if (!remote)
        return status;
    char path[256];
    snprintf(path, sizeof path, "/leaderboards/%s?device=%.32s", task,
             cli->device ? cli->device : CLI_DEFAULT_DEVICE);
    json_auto_t *board = NULL;
    kgrade_error error;
    if (remote_get(remote, path, &board, &error))
        return complain(remote, &error);
    if (cli->json)
        print_json(board);
    else
        print_leaderboard(board);
    return CLI_ACCEPTED;
}
