#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "progress.h"
#include "regrade.h"
#include "view.h"

#define MAIN_THREAD REGRADE_WITH_SERVER

static enum cli_exit complain(const kgrade_error *error, enum cli_exit status)
{
    cli_print_error(error);
    return status;
}

static enum cli_exit open_server(struct site *site)
{
    kgrade_error error;
    json_t *list = NULL;
    for (size_t i = 0; i <= MAIN_THREAD; i++)
        if (remote_open(site->cli, &site->remotes[i], &error))
            return complain(&error, CLI_USAGE);
    if (remote_get(site->remotes[MAIN_THREAD], "/tasks", &list, &error))
        return complain(&error, remote_blame(site->remotes[MAIN_THREAD]));
    site->tasks = json_incref(json_object_get(list, "tasks"));
    json_decref(list);
    return CLI_ACCEPTED;
}

static enum cli_exit open_engine(struct site *site)
{
    enum cli_exit status = CLI_INFRASTRUCTURE;
    struct cli options = *site->cli;
    cleanup_free char *text = NULL, *tasks = problems_folder(site->folder);
    kgrade_error error;
    /* There may be candidates in Python among the entries. */
    options.n_arguments = 0;
    python_settle(&options);
    options.options.more_tasks = tasks;
    options.options.keep_spares = true;
    /* A plan needs no jail but for problems that are Python. */
    if (site->cli->plan && kgrade_open(&options.options, &site->engine, &error)) {
        site->no_jails = !options.options.allow_reduced;
        options.options.allow_reduced = true;
    }
    if (!site->engine)
        site->engine = cli_open(&options, &status);
    if (!site->engine)
        return status;
    if (kgrade_tasks_json(site->engine, &text, &error))
        return complain(&error, CLI_INFRASTRUCTURE);
    json_auto_t *list = json_loads(text, 0, NULL);
    site->tasks = json_incref(json_object_get(list, "tasks"));
    return CLI_ACCEPTED;
}

enum cli_exit site_open(const struct cli *cli, const char *folder, struct site *ret)
{
    *ret = (struct site){.cli = cli,
                         .folder = folder,
                         .problems = json_object(),
                         .ahead = json_object(),
                         .described = json_object()};
    return remote_server(cli) ? open_server(ret) : open_engine(ret);
}

void site_close(struct site *site)
{
    kgrade_close(site->engine);
    for (size_t i = 0; i <= MAIN_THREAD; i++)
        remote_close(site->remotes[i]);
    json_decref(site->tasks);
    json_decref(site->problems);
    json_decref(site->ahead);
    json_decref(site->described);
    *site = (struct site){0};
}

static unsigned builds_ahead(void)
{
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    return half < 1 ? 1 : half > REGRADE_BUILDS_AHEAD ? REGRADE_BUILDS_AHEAD : (unsigned)half;
}

int site_threads(const struct site *site, const struct regrade_store *store, unsigned *ret,
                 kgrade_error *err)
{
    bool on_cpu;
    if (regrade_store_uses(store, CLI_DEFAULT_DEVICE, &on_cpu, err))
        return -1;
    *ret = !site->engine ? REGRADE_WITH_SERVER : on_cpu ? 1 : 1 + builds_ahead();
    return 0;
}

void site_check(const struct site *site, struct regrade_entry *entry, kgrade_error *err)
{
    const kgrade_request request = {
        .task = entry->task,
        .device = entry->device,
        .language = entry->language,
        .source = entry->source,
        .source_size = entry->source_size,
    };
    if (entry->skip_code || !site->engine || !kgrade_check_request(site->engine, &request, err))
        return;
    entry->skip_code = err->code;
    entry->skip_message = err->message;
}

/* Codes that say that this candidate can never be graded, as it is. */
static bool is_refusal(const char *code)
{
    static const char *const codes[] = {
        "unknown_task",     "unknown_device",     "unknown_language", "empty_source",
        "source_too_large", "source_not_utf8",    "bad_bundle",       "no_source_file",
        "body_too_large",   "task_not_for_device"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (!strcmp(code, codes[i]))
            return true;
    return false;
}

/* Codes that say nothing of a recording. */
static bool is_fatal(const char *code)
{
    return !strcmp(code, "cancelled") || !strcmp(code, "out_of_memory");
}

static bool go_on(void *data, const char *step, unsigned done, unsigned total)
{
    (void)data;
    (void)step;
    (void)done;
    (void)total;
    return !progress_signal();
}

/* --- This machine ------------------------------------------------------------------------------- */

static int replay(const struct site *site, const struct regrade_job *job, kgrade_result **ret,
                  kgrade_error *err)
{
    cleanup_bytes struct bytes recording = {0};
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/recordings/%s.kgr", site->folder, job->recording_hash) < 0) {
        path = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    }
    if (io_read_file(path, CLI_MAX_RECORDING_BYTES, &recording, err))
        return -1;
    return kgrade_replay(site->engine, job->task, recording.data, recording.size, go_on, NULL, ret,
                         err);
}

static int take_result(const kgrade_result *result, struct regrade_outcome *ret, kgrade_error *err)
{
    size_t size = 0;
    const void *recording = kgrade_result_recording(result, &size);
    ret->result = strdup(kgrade_result_json(result));
    if (!ret->result)
        return fail(err, "out_of_memory", NULL, "There is no memory for a result.");
    if (!recording || size > CLI_MAX_RECORDING_BYTES)
        return 0;
    ret->recording.data = malloc(size);
    if (!ret->recording.data)
        return fail(err, "out_of_memory", NULL, "There is no memory for a recording.");
    memcpy(ret->recording.data, recording, size);
    ret->recording.size = size;
    return 0;
}

static enum regrade_grading grade_here(const struct site *site, const struct regrade_job *job,
                                       struct regrade_outcome *ret, kgrade_error *err)
{
    const kgrade_request request = {
        .task = job->task,
        .device = job->device,
        .language = job->language,
        .source = job->source,
        .source_size = job->source_size,
        .id = job->grade_id,
    };
    kgrade_result *result = NULL;
    int failed = job->recording_hash
                     ? replay(site, job, &result, err)
                     : kgrade_grade(site->engine, &request, go_on, NULL, &result, err);
    if (failed && job->recording_hash && !is_fatal(err->code))
        return REGRADE_GRADING_REFUSED;
    if (failed)
        return is_refusal(err->code) ? REGRADE_GRADING_REFUSED : REGRADE_GRADING_ENDED;
    /* A terminal sends its signal to the engine's processes, too: what then looks like a broken infrastructure is the wish
     * to stop. */
    bool stopped =
        progress_signal() && kgrade_result_verdict(result) == KGRADE_INFRASTRUCTURE_ERROR;
    if (stopped)
        fail_set(err, "cancelled", NULL, "The grade was stopped.");
    failed = stopped || take_result(result, ret, err);
    kgrade_result_free(result);
    return failed ? REGRADE_GRADING_ENDED : REGRADE_GRADING_DONE;
}

/* --- A server ----------------------------------------------------------------------------------- */

/* What was sent before this process was started, and not waited for, is found again by its key. */
static enum regrade_grading grade_there(struct remote *remote, const struct regrade_job *job,
                                        struct regrade_outcome *ret, kgrade_error *err)
{
    const kgrade_request request = {
        .task = job->task,
        .device = job->device,
        .language = job->language,
        .source = job->source,
        .source_size = job->source_size,
        .id = job->grade_id,
    };
    char id[REMOTE_ID_SIZE];
    bool reused;
    json_auto_t *grade = NULL;
    if (remote_submit(remote, &request, false, id, &reused, err))
        return is_refusal(err->code) ? REGRADE_GRADING_REFUSED : REGRADE_GRADING_ENDED;
    if (remote_follow(remote, id, go_on, NULL, &grade, err))
        return REGRADE_GRADING_ENDED;
    const json_t *result = view_at(grade, "result");
    if (!result) {
        fail_set(err, "grade_cancelled", NULL, "Its grade %s was cancelled on the server.", id);
        return REGRADE_GRADING_REFUSED;
    }
    ret->result = json_dumps(result, JSON_COMPACT);
    if (ret->result)
        return REGRADE_GRADING_DONE;
    fail_set(err, "out_of_memory", NULL, "There is no memory for a result.");
    return REGRADE_GRADING_ENDED;
}

enum regrade_grading site_grade(void *data, unsigned thread, const struct regrade_job *job,
                                struct regrade_outcome *ret, kgrade_error *err)
{
    struct site *site = data;
    return site->engine ? grade_here(site, job, ret, err)
                        : grade_there(site->remotes[thread], job, ret, err);
}
