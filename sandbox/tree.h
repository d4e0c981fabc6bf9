/* Killing process trees without a PID namespace. */
#ifndef KGRADE_SANDBOX_TREE_H
#define KGRADE_SANDBOX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kills everything that descends from the calling process, a child subreaper, except what is in
 * `spare` or descends from it; reaps its own children among the killed.  Returns true when nothing
 * is left, false if something still lives at `deadline` (CLOCK_MONOTONIC ns).  Without `spare` that
 * is certain; with it, several looks in a row have found nothing. */
bool tree_kill_below_self(const pid_t *spare, size_t n_spare, uint64_t deadline);

/* Threads of all processes of a user; 0 if it cannot be told. */
uint64_t tree_threads_of_user(uid_t user);

#endif
