/* The line that moves while a grade is made, and the wish to stop it. */
#ifndef KGRADE_CLI_PROGRESS_H
#define KGRADE_CLI_PROGRESS_H

#include <stdbool.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP asks the grade to end; a second one ends the
 * process as usual. */
void progress_catch_signals(void);

/* The signal that asked, 0 for none. */
int progress_signal(void);

/* Ends the process by the signal that asked, so that a shell sees what happened. */
void progress_die_of_signal(void);

struct progress; /* there can be one at a time */

/* Starts to draw on standard error if that is a terminal; else the line stays away.  NULL: no
 * memory. */
struct progress *progress_start(void);

/* A kgrade_progress; data is the struct progress or NULL. */
bool progress_report(void *data, const char *step, unsigned done, unsigned total);

/* Wipes the line, frees.  NULL is allowed. */
void progress_stop(struct progress *progress);
static inline void cleanup_progress_(struct progress **progress)
{
    progress_stop(*progress);
}
#define cleanup_progress __attribute__((cleanup(cleanup_progress_)))

#endif
