/*
 * Where a grade's time goes: with KGRADE_TIMELINE set and not empty, a line on standard error for each request to a worker and each
 * wait for one to die.  For whoever works on kgrade; nothing of it is in a result.
 */
#ifndef KGRADE_TIMELINE_H
#define KGRADE_TIMELINE_H

#include <stdint.h>

/* One span at a time and thread. */
struct timeline {
    uint64_t start_ns, stage_ns; /* 0: nobody asks */
    char text[256];
};

void timeline_begin(struct timeline *timeline, const char *what);
/* What follows is another part of the span. */
void timeline_stage(struct timeline *timeline, const char *stage);
void timeline_end(struct timeline *timeline);

#endif
