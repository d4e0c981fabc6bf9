/*
 * Whether two recordings of one call are of the same work.
 *
 * Only what a recording says of the launches themselves counts: nodes, kernels, sizes, arguments, edges.  Where a
 * candidate's own memory lies and what is in it may differ from one process to the next.
 */
#ifndef KGRADE_WORK_H
#define KGRADE_WORK_H

#include "../recording.h"

enum work_difference {
    WORK_SAME,
    WORK_NODES,     /* more or fewer of them, or others */
    WORK_EDGES,     /* another order */
    WORK_KERNEL,    /* another name */
    WORK_IMAGE,     /* the same name, other code or build options */
    WORK_GRID,      /* other launch sizes */
    WORK_SETTINGS,  /* launch or function attributes */
    WORK_ARGUMENTS, /* a value, or a parameter of the task in another's place */
    WORK_TRANSFER   /* a copy or fill of other bytes */
};

/* The first difference that is found.  Both calls belong to their recordings, which are of the same task. */
enum work_difference work_compare(const struct recording *a, const struct recording_call *call_a,
                                  const struct recording *b, const struct recording_call *call_b);

/* What differs, as the end of "Its work has ...". */
const char *work_words(enum work_difference difference);

#endif
