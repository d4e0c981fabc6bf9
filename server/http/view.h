/* Jobs as clients see them. */
#ifndef KGRADED_VIEW_H
#define KGRADED_VIEW_H

#include <jansson.h>

#include "../jobs/jobs.h"

/* "queued", "running", "done", "cancelled"; a job that is being stored is as good as queued. */
const char *view_state_name(enum job_state state);

/* Whether nothing will change any more. */
bool view_is_final(enum job_state state);

/* {id, state, ahead, estimate_s, links}, a new reference. */
json_t *view_brief(const struct job_view *view);

/* All there is to know, its result included, to be freed. */
char *view_whole(struct job *job, const struct job_view *view);

#endif
