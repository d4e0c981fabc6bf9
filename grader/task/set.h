/* The tasks of one or two folders, as they were at one moment.  Never changed once loaded, and shared by reference counts: a grade
 * goes on with the tasks that it began with while the folders are read again for later ones. */
#ifndef KGRADE_TASK_SET_H
#define KGRADE_TASK_SET_H

#include "task.h"

#define TASK_SET_MAX 512

struct task_set {
    unsigned references; /* atomic */
    size_t n;
    struct task *tasks[TASK_SET_MAX]; /* by name */
};

/* Loads every folder in `folder`, and in `more` where that is there (NULL: nowhere), that has a task.json.  The caller has the one
 * reference.  Errors: `tasks_unreadable`, `too_many_tasks`, `task_twice`, and those of task_load. */
int task_set_load(const char *folder, const char *more, struct task_set **ret, kgrade_error *err);

struct task_set *task_set_ref(struct task_set *set);
void task_set_unref(struct task_set *set); /* NULL is allowed */
static inline void cleanup_task_set_(struct task_set **set)
{
    task_set_unref(*set);
}
#define cleanup_task_set __attribute__((cleanup(cleanup_task_set_)))

/* NULL: there is none of that name. */
const struct task *task_set_find(const struct task_set *set, const char *name);

#endif
