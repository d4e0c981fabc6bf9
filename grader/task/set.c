#define _GNU_SOURCE
#include "set.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

static int by_name(const void *a, const void *b)
{
    const struct task *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int path_of(const char *folder, const char *name, const char *file, char **ret,
                   kgrade_error *err)
{
    if (asprintf(ret, "%s/%s%s", folder, name, file) >= 0)
        return 0;
    *ret = NULL;
    return fail(err, "out_of_memory", NULL, "No memory for a task.");
}

static int load_one(struct task_set *set, const char *folder, const char *name, kgrade_error *err)
{
    cleanup_free char *path = NULL, *json = NULL;
    if (path_of(folder, name, "", &path, err) || path_of(folder, name, "/task.json", &json, err))
        return -1;
    if (name[0] == '.' || access(json, R_OK))
        return 0;
    if (set->n == TASK_SET_MAX)
        return fail(err, "too_many_tasks", "Spread them over several folders and engines.",
                    "%s holds more than %d tasks.", folder, TASK_SET_MAX);
    if (task_load(path, &set->tasks[set->n], err))
        return -1;
    set->n++;
    return 0;
}

static int load_folder(struct task_set *set, const char *folder, bool needed, kgrade_error *err)
{
    cleanup_dir DIR *dir = opendir(folder);
    if (!dir && !needed && errno == ENOENT)
        return 0;
    if (!dir)
        return fail_errno(err, "tasks_unreadable", "Name the folder of tasks with --tasks.",
                          "Cannot open %s", folder);
    for (const struct dirent *e; (e = readdir(dir));)
        if (load_one(set, folder, e->d_name, err))
            return -1;
    return 0;
}

int task_set_load(const char *folder, const char *more, struct task_set **ret, kgrade_error *err)
{
    cleanup_task_set struct task_set *set = calloc(1, sizeof *set);
    if (!set)
        return fail(err, "out_of_memory", NULL, "No memory for the tasks.");
    set->references = 1;
    if (load_folder(set, folder, true, err) || (more && load_folder(set, more, false, err)))
        return -1;
    qsort(set->tasks, set->n, sizeof set->tasks[0], by_name);
    for (size_t i = 1; i < set->n; i++)
        if (!strcmp(set->tasks[i - 1]->name, set->tasks[i]->name))
            return fail(err, "task_twice", "Take it out of one of the folders.",
                        "%s and %s both have a task %s.", folder, more, set->tasks[i]->name);
    *ret = steal_pointer(&set);
    return 0;
}

struct task_set *task_set_ref(struct task_set *set)
{
    __atomic_add_fetch(&set->references, 1, __ATOMIC_RELAXED);
    return set;
}

void task_set_unref(struct task_set *set)
{
    if (!set || __atomic_sub_fetch(&set->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < set->n; i++)
        task_free(set->tasks[i]);
    free(set);
}

const struct task *task_set_find(const struct task_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->tasks[i]->name, name))
            return set->tasks[i];
    return NULL;
}
