/* The built-in tasks with small cases: what is tested here does not need large ones, and takes a
 * tenth of the time. */
#ifndef HOSTILE_SMALL_TASKS_H
#define HOSTILE_SMALL_TASKS_H

/* Makes `folder`/tasks with a copy of each task.  Exits on failure. */
void small_tasks_make(const char *folder);
void small_tasks_remove(const char *folder);

#endif
