/* What the files of `kgrade regrade` share. */
#ifndef KGRADE_CLI_REGRADE_H
#define KGRADE_CLI_REGRADE_H

#include "../regrade/files.h"
#include "../regrade/problem.h"
#include "../regrade/run.h"
#include "../regrade/store.h"
#include "cli.h"
#include "remote/remote.h"

#define REGRADE_DEFAULT_FOLDER "regrade"
/* Threads beyond the one whose grade holds the device: they build and rehearse meanwhile, at most so many and one for two processors, since
 * PyTorch takes half a minute for an extension, most of it one of two compilers at a time.  None where the device is the CPU, which
 * that would disturb. */
#define REGRADE_BUILDS_AHEAD 8u
/* Problems that are run at a time, on a card and on the CPU: no more than there are processors. */
#define REGRADE_DESCRIBERS 16u
#define REGRADE_DESCRIBERS_ON_CPU 2u
/* Grades that are with a server at a time. */
#define REGRADE_WITH_SERVER 4u

/* regrade_site.c: where candidates are graded, this machine or a server. */
struct site {
    const struct cli *cli;
    const char *folder;
    kgrade *engine; /* NULL: a server */
    struct remote
        *remotes[REGRADE_WITH_SERVER + 1]; /* each thread has its own, the last one is main()'s */
    json_t *tasks;                         /* as GET /tasks lists them */
    bool no_jails; /* the plan was wanted on a machine that cannot give them */
    enum { SITE_GPU_UNKNOWN, SITE_GPU_NONE, SITE_GPU_WORKS } gpu;
    json_t *problems; /* by name: what is known of those that were read */
    json_t *ahead; /* by name: of those that will be read, the device to run it on first, or null */
    json_t *described; /* by name: {"code", "message"} of those that were, {} where it went well */
};
/* Prints why not.  Not CLI_ACCEPTED when it failed. */
enum cli_exit site_open(const struct cli *cli, const char *folder, struct site *ret);
void site_close(struct site *site);
#define cleanup_site __attribute__((cleanup(site_close)))
/* How many grades may be under way at a time, of what the round has to do. */
int site_threads(const struct site *site, const struct regrade_store *store, unsigned *ret,
                 kgrade_error *err);
/* Fills skip_code and skip_message from *err where the request would be refused. */
void site_check(const struct site *site, struct regrade_entry *entry, kgrade_error *err);
/* A regrade_run's grade; data is the site. */
enum regrade_grading site_grade(void *data, unsigned thread, const struct regrade_job *job,
                                struct regrade_outcome *ret, kgrade_error *err);

/* regrade_problems.c */
/* Where the tasks of problems are, FOLDER/tasks; free() it. */
char *problems_folder(const char *folder);
/* Before it is carried: writes its folder, and notes in site->ahead whether it must be run. */
int problems_note(struct site *site, const struct regrade_problem *problem, kgrade_error *err);
/* The engine takes in what was described ahead. */
int problems_take_in(struct site *site, kgrade_error *err);
/* A sink's carry. */
int problems_carry(struct site *site, const struct regrade_problem *problem,
                   struct regrade_carried *ret, kgrade_error *err);
/* Those files of its problem that an entry in Python imports, made one source with it.  free() what is returned when the entry is done
 * with; NULL: it stays as it is. */
char *problems_add_files(const struct site *site, struct regrade_entry *entry);

/* regrade_ahead.c */
/* Runs the problems of a source, several at a time, before it is read. */
int problems_ahead(struct site *site, const struct regrade_adapter *adapter, const char *path,
                   const struct regrade_wishes *wishes, kgrade_error *err);

/* regrade_plan.c */
/* What will be graded and what not, an object; NULL with *err. */
json_t *plan_describe(const struct regrade_store *store, kgrade_error *err);
/* For people, to file. */
void plan_print(FILE *file, const json_t *plan);

#endif
