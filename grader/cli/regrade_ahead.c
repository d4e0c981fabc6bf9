/*
 * `kgrade regrade`: the problems of a source, run before it is read.
 *
 * An adapter carries one problem after the other, and running one takes seconds, most of them one processor's: an interpreter imports
 * its frameworks.  So a source is looked through for its problems first, those that must be run are run side by side, and
 * when it is read all of them are tasks, or it is known why not.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "progress.h"
#include "regrade.h"
#include "text.h"

struct problem {
    const char *name, *device; /* of site->ahead */
    bool failed;
    kgrade_error why;
};

struct crew {
    struct site *site;
    const char *tasks; /* the folder */
    struct problem *problems;
    size_t n;
    pthread_mutex_t lock; /* of what follows, and of standard error */
    size_t next;
};

/* --- Looking through ---------------------------------------------------------------------------- */

static int begin(void *data, const struct regrade_source *source, kgrade_error *err)
{
    (void)data;
    (void)source;
    (void)err;
    return 0;
}

static int pass_by(void *data, const struct regrade_entry *entry, kgrade_error *err)
{
    (void)data;
    (void)entry;
    return progress_signal() ? fail(err, "interrupted", NULL, "The reading was stopped.") : 0;
}

static int note(void *data, const char *text, kgrade_error *err)
{
    (void)data;
    (void)text;
    (void)err;
    return 0;
}

static int carry(void *data, const struct regrade_problem *problem, struct regrade_carried *ret,
                 kgrade_error *err)
{
    *ret = (struct regrade_carried){.skip_code = "", .skip_message = ""};
    return problems_note(data, problem, err);
}

/* --- Running ------------------------------------------------------------------------------------ */

static struct problem *next_of(struct crew *crew)
{
    struct problem *problem = NULL;
    pthread_mutex_lock(&crew->lock);
    if (crew->next < crew->n && !progress_signal()) {
        problem = &crew->problems[crew->next++];
        fputs("Running the problem ", stderr);
        text_print_inline(stderr, problem->name);
        fprintf(stderr, " to make a task of it, %zu of %zu.\n", crew->next, crew->n);
    }
    pthread_mutex_unlock(&crew->lock);
    return problem;
}

static void *work(void *data)
{
    struct crew *crew = data;
    struct problem *problem;
    while ((problem = next_of(crew))) {
        cleanup_free char *folder = regrade_path(crew->tasks, problem->name);
        problem->failed =
            folder ? kgrade_describe_task(crew->site->engine, folder, problem->device,
                                          progress_report, NULL, &problem->why) != 0
                   : fail(&problem->why, "out_of_memory", NULL, "There is no memory for a task.");
    }
    return NULL;
}

static unsigned how_many(const struct crew *crew)
{
    bool on_cpu = false;
    for (size_t i = 0; i < crew->n; i++)
        on_cpu = on_cpu || !strcmp(crew->problems[i].device, CLI_DEFAULT_DEVICE);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned most = on_cpu ? REGRADE_DESCRIBERS_ON_CPU : REGRADE_DESCRIBERS;
    unsigned n = cpus > 0 && (unsigned long)cpus < most ? (unsigned)cpus : most;
    return crew->n < n ? (unsigned)crew->n : n;
}

/* Signals are for the thread that waits. */
static void run_all(struct crew *crew)
{
    pthread_t threads[REGRADE_DESCRIBERS];
    sigset_t all, before;
    unsigned n = 0, wanted = how_many(crew);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n < wanted && !pthread_create(&threads[n], NULL, work, crew))
        n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!n) /* no thread to be had: this one will do */
        work(crew);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* {} of what has become a task, {"code", "message"} of what has not. */
static int keep(const struct crew *crew, kgrade_error *err)
{
    for (size_t i = 0; i < crew->n; i++) {
        const struct problem *p = &crew->problems[i];
        json_t *told = p->failed
                           ? json_pack("{s:s, s:s}", "code", p->why.code, "message", p->why.message)
                           : json_object();
        if (json_object_set_new(crew->site->described, p->name, told))
            return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    }
    return 0;
}

static int run(struct site *site, kgrade_error *err)
{
    cleanup_free char *tasks = problems_folder(site->folder);
    struct crew crew = {.site = site, .tasks = tasks};
    cleanup_free struct problem *problems =
        calloc(json_object_size(site->ahead) + 1, sizeof *problems);
    const char *name;
    json_t *device;
    if (!tasks || !problems)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    json_object_foreach(site->ahead, name, device)
    {
        if (json_is_string(device))
            problems[crew.n++] =
                (struct problem){.name = name, .device = json_string_value(device)};
    }
    if (crew.n < 2) /* the reading itself runs that one */
        return 0;
    crew.problems = problems;
    pthread_mutex_init(&crew.lock, NULL);
    run_all(&crew);
    pthread_mutex_destroy(&crew.lock);
    if (progress_signal())
        return fail(err, "interrupted", NULL, "The reading was stopped.");
    return keep(&crew, err) || problems_take_in(site, err) ? -1 : 0;
}

int problems_ahead(struct site *site, const struct regrade_adapter *adapter, const char *path,
                   const struct regrade_wishes *wishes, kgrade_error *err)
{
    const struct regrade_sink sink = {begin, pass_by, note, site, carry};
    if (!site->engine || !regrade_is_folder(path)) /* a file has no problems beside it */
        return 0;
    json_object_clear(site->ahead);
    json_object_clear(site->described);
    return adapter->read(path, wishes, &sink, err) || run(site, err) ? -1 : 0;
}
