/* The build step: a candidate's source becomes a shared object, in a jail of its own. */
#ifndef KGRADE_BUILD_H
#define KGRADE_BUILD_H

#include "../grade/engine.h"

/* `target` as the device's replayer gave it, or "".  *ret_cached: the compiler did not have to run.  Verdicts: build_failed (`compile_failed`, `build_timeout`,
 * `compiler_killed`). */
int build_candidate(kgrade *engine, const struct device *device,
                    const struct device_language *language, const char *target, const char *source,
                    size_t size, struct bytes *ret, bool *ret_cached, struct finding *finding);

/* The task's reference.c, compiled once per engine.  *ret belongs to the engine. */
int build_reference(kgrade *engine, const struct task *task, const struct bytes **ret,
                    struct finding *finding);

/* The task's reference for the device itself, compiled once per engine and target.  *ret belongs to the engine; NULL
 * when the device or the task has none. */
int build_device_reference(kgrade *engine, const struct device *device, const char *target,
                           const struct task *task, struct reference **ret,
                           struct finding *finding);

/* Whether it has been compared with reference.c, which is done once per engine. */
bool build_reference_is_checked(kgrade *engine, const struct reference *reference);
void build_reference_set_checked(kgrade *engine, struct reference *reference);

#endif
