/* The profile step, from outside the jail: a diagnosis of the candidate's host code, apart from any grade. */
#ifndef KGRADE_PROFILE_H
#define KGRADE_PROFILE_H

#include "../grade/engine.h"

#define PROFILE_COLD_PROCESSES 5u
#define PROFILE_MAX_PROCESSES 100u
#define PROFILE_BUDGET_MS 600u

/*
 * Builds the candidate, calls it once in each of several fresh processes and often in one more, and writes the report
 * (schema kgrade.profile/1, profile.schema.json).  What goes wrong on the way is in the report; -1 only for
 * `bad_profile_options`, when the caller cancelled (`cancelled`) or memory ran out.
 */
int profile_source(kgrade *engine, const struct task *task, const struct device *device,
                   const struct device_language *language, const kgrade_request *request,
                   const kgrade_profile_options *options, kgrade_progress progress, void *data,
                   char **ret_json, kgrade_error *err);

#endif
