/* Grading a source against a task that need not be in the engine's folder. */
#ifndef KGRADE_GRADE_H
#define KGRADE_GRADE_H

#include "engine.h"

/* As kgrade_grade, with names already looked up; of the request only source and id count, which are already checked. */
int grade_source(kgrade *engine, const struct task *task, const struct device *device,
                 const struct device_language *language, const kgrade_request *request,
                 kgrade_progress progress, void *data, kgrade_result **ret, kgrade_error *err);

/* As kgrade_replay; takes the recording. */
int grade_recording(kgrade *engine, const struct task *task, const struct device *device,
                    struct recording *recording, kgrade_progress progress, void *data,
                    kgrade_result **ret, kgrade_error *err);

#endif
