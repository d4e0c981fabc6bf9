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
/* Threads beyond the one whose grade holds the device: they build meanwhile.  Not where the device is the CPU, which that would
 * disturb. */
#define REGRADE_BUILDS_AHEAD 1u
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
/* A sink's carry. */
int problems_carry(struct site *site, const struct regrade_problem *problem,
                   struct regrade_carried *ret, kgrade_error *err);
/* Those files of its problem that an entry in Python imports, made one source with it.  free() what is returned when the entry is done
 * with; NULL: it stays as it is. */
char *problems_add_files(const struct site *site, struct regrade_entry *entry);

/* regrade_plan.c */
/* What will be graded and what not, an object; NULL with *err. */
json_t *plan_describe(const struct regrade_store *store, kgrade_error *err);
/* For people, to file. */
void plan_print(FILE *file, const json_t *plan);

#endif
