/* A task's baseline on a device: built, recorded and verified once, then kept as a recording. */
#ifndef KGRADE_BASELINE_H
#define KGRADE_BASELINE_H

#include "../replay/replay.h"

/* What a task's baseline on a device is written in: the device's first language, or Python (baseline.DEVICE.py) */
struct baseline_source {
    const struct bytes *text; /* of the task; NULL: there is none */
    const struct device_language *language;
    const struct python *python; /* NULL: it is compiled, or no interpreter is named */
};
struct baseline_source baseline_source(kgrade *engine, const struct device *device,
                                       const struct task *task);

/* `cases` are the benchmark cases, `info` what a replayer of the device says.  *ret belongs to the engine. A
 * baseline that fails is an infrastructure fault, `baseline_failed`. The device's slot is held by the caller. */
int baseline_get(kgrade *engine, const struct device *device, const struct task *task,
                 const struct task_case *cases, size_t n_cases, const json_t *info,
                 const struct baseline **ret, struct finding *finding);

/* Builds the baseline and records it on these cases for an open replayer.  *ret is the caller's. */
int baseline_record(kgrade *engine, const struct device *device, const struct task *task,
                    const struct task_case *cases, size_t n_cases, struct replay *replay,
                    struct bytes *ret, struct finding *finding);

/* Whether the recording that the replayer was given is right on each of these cases.  judge_ns: as judge_open. */
int baseline_verify(kgrade *engine, const struct device *device, const struct task *task,
                    const struct task_case *cases, size_t n_cases, uint64_t judge_ns,
                    struct replay *replay, struct finding *finding);

#endif
