/* `kgrade regrade`: reads boards, plans, grades. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "progress.h"
#include "regrade.h"
#include "text.h"
#include "view.h"

static enum cli_exit complain(const kgrade_error *error)
{
    static const char *const usage[] = {"unknown_board", "unknown_adapter", "bad_board",
                                        "no_regrade",    "file_unreadable", "file_too_large",
                                        "regrade_busy"};
    cli_print_error(error);
    for (size_t i = 0; i < sizeof usage / sizeof usage[0]; i++)
        if (!strcmp(error->code, usage[i]))
            return CLI_USAGE;
    return CLI_INFRASTRUCTURE;
}

/* --- Reading ------------------------------------------------------------------------------------ */

struct reading {
    struct site *site;
    struct regrade_store *store;
    const struct regrade_adapter *adapter;
    const char *path;
    struct regrade_wishes wishes;
    bool began;
};

static int begin(void *data, const struct regrade_source *source, kgrade_error *err)
{
    struct reading *r = data;
    if (regrade_store_begin_source(r->store, r->adapter->name, r->path, source, err))
        return -1;
    r->began = true;
    return 0;
}

static int take(void *data, const struct regrade_entry *given, kgrade_error *err)
{
    struct reading *r = data;
    struct regrade_entry entry = *given;
    kgrade_error why;
    if (progress_signal())
        return fail(err, "interrupted", NULL, "The reading was stopped.");
    r->wishes.tasks = r->site->tasks;
    regrade_complete(&entry, &r->wishes);
    cleanup_free char *source = problems_add_files(r->site, &entry);
    site_check(r->site, &entry, &why);
    return regrade_store_add(r->store, &entry, err);
}

static int carry(void *data, const struct regrade_problem *problem, struct regrade_carried *ret,
                 kgrade_error *err)
{
    struct reading *r = data;
    int rc = problems_carry(r->site, problem, ret, err);
    r->wishes.tasks = r->site->tasks;
    return rc;
}

static int note(void *data, const char *text, kgrade_error *err)
{
    struct reading *r = data;
    return regrade_store_add_note(r->store, text, err);
}

static int read_source(const struct cli *cli, struct site *site, struct regrade_store *store,
                       const char *path, kgrade_error *err)
{
    cleanup_free char *real = realpath(path, NULL);
    if (!real)
        return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
    struct reading reading = {
        .site = site,
        .store = store,
        .adapter =
            cli->format ? regrade_adapter_named(cli->format, err) : regrade_adapter_for(real, err),
        .path = real,
        .wishes = {.task = cli->task, .device = cli->device, .tasks = site->tasks},
    };
    if (!reading.adapter || problems_ahead(site, reading.adapter, real, &reading.wishes, err))
        return -1;
    reading.wishes.tasks = site->tasks; /* there may be more by now */
    const struct regrade_sink sink = {begin, take, note, &reading, carry};
    int rc = reading.adapter->read(real, &reading.wishes, &sink, err);
    if (reading.began && regrade_store_end_source(store, rc == 0, err))
        rc = -1;
    return rc;
}

/* Takes in what the command line names. */
static int read_all(const struct cli *cli, struct site *site, struct regrade_store *store,
                    kgrade_error *err)
{
    for (int i = 0; i < cli->n_arguments; i++)
        if (read_source(cli, site, store, cli->arguments[i], err))
            return -1;
    return cli->n_arguments || cli->only || cli->sample
               ? regrade_store_choose(store, cli->only, cli->sample, err)
               : 0;
}

/* --- Working ------------------------------------------------------------------------------------ */

struct telling {
    struct site *site;
    struct progress *progress;
    uint64_t before;
    bool lines; /* one for each candidate: nobody watches a line that moves */
};

static void tell(void *data, const struct regrade_told *told)
{
    struct telling *t = data;
    const struct progress_batch batch = {
        .done = told->done, .total = told->total, .before = t->before, .name = told->job->name};
    progress_tell_batch(t->progress, &batch);
    if (!t->lines)
        return;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 "  ", told->done, told->total);
    text_print_inline(stderr, told->job->name);
    if (told->score > 0)
        fprintf(stderr, "  %s %.3f\n", told->verdict, told->score);
    else
        fprintf(stderr, "  %s%s%s%s\n", told->verdict ? told->verdict : "refused",
                told->code ? " [" : "", told->code ? told->code : "", told->code ? "]" : "");
}

static enum regrade_grading grade(void *data, unsigned thread, const struct regrade_job *job,
                                  struct regrade_outcome *ret, kgrade_error *err)
{
    const struct telling *t = data;
    return site_grade(t->site, thread, job, ret, err);
}

static bool asked_to_stop(void)
{
    return progress_signal() != 0;
}

static json_t *summary_json(const struct regrade_summary *s)
{
    json_t *verdicts = json_object();
    for (unsigned v = 0; v <= KGRADE_INFRASTRUCTURE_ERROR; v++)
        json_object_set_new(verdicts, kgrade_verdict_name((kgrade_verdict)v),
                            json_integer((json_int_t)s->verdicts[v]));
    double seconds = (double)s->wall_ns / 1e9;
    return json_pack("{s:I, s:o, s:I, s:b, s:f, s:f}", "graded", (json_int_t)s->done, "verdicts",
                     verdicts, "refused", (json_int_t)s->refused, "complete", s->complete, "wall_s",
                     seconds, "device_held_s", s->held_ms / 1e3);
}

static void print_summary(const struct regrade_summary *s, const char *folder)
{
    double seconds = (double)s->wall_ns / 1e9;
    if (s->done)
        printf("Graded %" PRIu64 " in %.1f s", s->done, seconds);
    else
        fputs(s->complete ? "Nothing was left to grade" : "Nothing was graded", stdout);
    const char *separator = ": ";
    for (unsigned v = 0; v <= KGRADE_INFRASTRUCTURE_ERROR; v++)
        if (s->verdicts[v]) {
            printf("%s%" PRIu64 " %s", separator, s->verdicts[v],
                   kgrade_verdict_name((kgrade_verdict)v));
            separator = ", ";
        }
    if (s->refused)
        printf("%s%" PRIu64 " refused", separator, s->refused);
    puts(".");
    if (s->held_ms > 0 && seconds > 0)
        printf("Devices were in use for %.1f s, %.0f %% of the time.\n", s->held_ms / 1e3,
               s->held_ms / 10 / seconds);
    if (s->complete)
        printf("All is done; the report:  kgrade regrade report %s\n", folder);
    else
        puts("That is not all of it: the same command goes on where this one ended.");
}

static enum cli_exit work(const struct cli *cli, struct site *site, struct regrade_store *store,
                          json_t *plan)
{
    struct regrade_counts counts;
    struct regrade_summary summary;
    kgrade_error error;
    unsigned threads;
    if (regrade_store_counts(store, &counts, &error) || site_threads(site, store, &threads, &error))
        return complain(&error);
    if (!counts.chosen && counts.left_out)
        fputs("kgrade: --only and --sample chose none of what can be graded; a pattern must match "
              "the whole of an id, an author or another name: '*word*'.\n",
              stderr);
    struct telling telling = {
        .site = site, .before = counts.candidates - counts.to_do, .lines = !isatty(STDERR_FILENO)};
    const struct regrade_run run = {threads, grade, asked_to_stop, tell, &telling};
    int failed;
    {
        cleanup_progress struct progress *progress = progress_start();
        telling.progress = progress;
        const struct progress_batch nothing = {
            .done = telling.before, .total = counts.candidates, .before = telling.before};
        progress_tell_batch(progress, &nothing);
        failed = regrade_run(store, &run, &summary, &error);
    }
    if (failed && !progress_signal())
        complain(&error);
    if (cli->json) {
        json_object_set_new(plan, "run", summary_json(&summary));
        json_dumpf(plan, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_summary(&summary, site->folder);
    }
    bool faults = summary.verdicts[KGRADE_INFRASTRUCTURE_ERROR] > 0;
    if (faults && !cli->json)
        printf("%" PRIu64 " ended in an error of the infrastructure; grade them again with --retry "
               "infrastructure.\n",
               summary.verdicts[KGRADE_INFRASTRUCTURE_ERROR]);
    return failed || faults || !summary.complete ? CLI_INFRASTRUCTURE : CLI_ACCEPTED;
}

/* --- The command -------------------------------------------------------------------------------- */

static enum regrade_round round_of(const struct cli *cli)
{
    if (cli->from_recordings)
        return REGRADE_RECORDINGS;
    if (!cli->retry)
        return REGRADE_FIRST;
    return strcmp(cli->retry, "unresolved") ? REGRADE_AGAIN : REGRADE_UNRESOLVED;
}

static enum cli_exit plan_and_work(const struct cli *cli, struct site *site,
                                   struct regrade_store *store)
{
    kgrade_error error;
    if (read_all(cli, site, store, &error) || regrade_store_begin(store, round_of(cli), &error))
        return progress_signal() ? CLI_INFRASTRUCTURE : complain(&error);
    json_auto_t *plan = plan_describe(store, &error);
    if (!plan)
        return complain(&error);
    if (!cli->json) {
        plan_print(stdout, plan);
        fflush(stdout);
    }
    if (!cli->plan)
        return work(cli, site, store, plan);
    if (cli->json) {
        json_dumpf(plan, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (view_number(plan, "candidates.to_do") > 0) {
        puts("Nothing was graded: the same command without --plan begins.");
    }
    return CLI_ACCEPTED;
}

static enum cli_exit open_and_work(const struct cli *cli, const char *folder)
{
    kgrade_error error;
    cleanup_site struct site site = {0};
    enum cli_exit status = site_open(cli, folder, &site);
    if (status != CLI_ACCEPTED)
        return status;
    cleanup_regrade_store struct regrade_store *store = NULL;
    if (regrade_store_open(folder, &store, &error))
        return complain(&error);
    return plan_and_work(cli, &site, store);
}

enum cli_exit command_regrade(const struct cli *cli)
{
    const char *folder = cli->folder ? cli->folder : REGRADE_DEFAULT_FOLDER;
    cleanup_free char *database = NULL;
    if (remote_server(cli) && cli->local_only)
        return options_complain("regrade", "%s is for grading on this machine, without --server.",
                                cli->local_only);
    if (cli->from_recordings && cli->retry)
        return options_complain("regrade", "Choose one of --retry and --from-recordings.");
    if (asprintf(&database, "%s/" REGRADE_DATABASE, folder) < 0) {
        database = NULL; /* which is undefined now */
        return CLI_INFRASTRUCTURE;
    }
    if (!cli->n_arguments && access(database, F_OK))
        return options_complain("regrade",
                                "Say what to grade: kgrade regrade SOURCE...  (There is nothing in "
                                "%s to go on with.)",
                                folder);
    progress_catch_signals();
    enum cli_exit status = open_and_work(cli, folder);
    if (progress_signal()) {
        fprintf(stderr, "kgrade: Stopped; what was graded is kept in %s.\n", folder);
        fflush(stdout);
        progress_die_of_signal();
    }
    return status;
}
