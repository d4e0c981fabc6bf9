/* Grades that were accepted before: reading, listing, cancelling them. */
#ifndef KGRADED_GRADE_GET_H
#define KGRADED_GRADE_GET_H

#include "request.h"

/* Seconds that DELETE waits for the grade to end when `wait` does not say. */
#define GRADE_CANCEL_WAIT_S 10
#define GRADE_LIST_DEFAULT 50
#define GRADE_LIST_MOST 200
#define LEADERBOARD_DEFAULT 100
#define LEADERBOARD_MOST 1000

/* Takes hold of the job that the path names as r->job, if the caller may see it.  Errors:
 * `unknown_grade`, `store_unavailable`. */
int grade_find(struct request *r, kgrade_error *err);

enum MHD_Result grade_get(struct request *r);
enum MHD_Result grade_list(struct request *r);
enum MHD_Result grade_source(struct request *r);
enum MHD_Result grade_delete(struct request *r);
enum MHD_Result leaderboard_get(struct request *r);

#endif
