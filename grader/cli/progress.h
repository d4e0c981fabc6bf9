/* The line that moves while a grade is made, and the wish to stop it. */
#ifndef KGRADE_CLI_PROGRESS_H
#define KGRADE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

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

/* How far many grades are: a bar, what is done a minute, how long the rest will take. */
struct progress_batch {
    uint64_t done, total; /* done > total is taken for total */
    uint64_t before;  /* of done, those that others did earlier: they tell nothing about the rate */
    double seconds;   /* since the first of the others was begun */
    const char *name; /* of what was last done; may be foreign; NULL: nothing yet */
};

/* From now on the line tells of a batch.  seconds are the line's own. */
void progress_tell_batch(struct progress *progress, const struct progress_batch *batch);

#define PROGRESS_LINE 256
/* The text of such a line, of at most `columns` columns; 0: as long as it gets. */
void progress_batch_line(const struct progress_batch *batch, unsigned columns,
                         char ret[PROGRESS_LINE]);

/* Wipes the line, frees.  NULL is allowed. */
void progress_stop(struct progress *progress);
static inline void cleanup_progress_(struct progress **progress)
{
    progress_stop(*progress);
}
#define cleanup_progress __attribute__((cleanup(cleanup_progress_)))

#endif
