/* What the jails of a grade's steps are: what they see, may do and may use, and what runs in them. */
#ifndef KGRADE_SPEC_H
#define KGRADE_SPEC_H

#include "engine.h"

#define SPEC_BUILD_PRODUCT_BYTES (256u << 20)
#define SPEC_MAX_VARIABLES 32

/* device NULL: what all jails have.  How many binds or variables; neither list is more than is said, env ends with NULL. */
size_t spec_binds(const struct device *device, enum device_step step,
                  struct jail_bind binds[JAIL_MAX_BINDS]);
size_t spec_environment(const struct device *device, enum device_step step, const char **env,
                        size_t max);

/* What a step's jail is like.  A judge that is an interpreter, for a foreign task, has one like a candidate's. */
enum device_step spec_jail(enum device_step step, const struct python *python);

enum jail_policy spec_policy(const struct device *device, enum device_step step);

/* device NULL: a compiler.  python: of a candidate or a task in Python its interpreter, else NULL. */
struct jail_limits spec_limits(const struct device *device, enum device_step step,
                               const struct python *python, uint64_t wall_ns);

/* baseline.DEVICE.py of a task that has no baseline in the device's first language; NULL: it has none. */
const struct bytes *spec_python_baseline(const struct device *device, const struct task *task);

/* What a candidate may allocate on the device: the task's workspace_bytes.  One in Python gets what its frameworks take for
 * themselves, and room for tensors in between, each as large as a case's buffers; the same for all cases of a task.  So do all
 * candidates of a task with anything in Python, whose baseline may need it: both sides may share an arena. */
uint64_t spec_workspace(const struct device *device, const struct task *task, bool python);

/* What runs in a worker's jail: a program of ours, or an interpreter that a library of ours makes one. */
struct spec_command {
    char program[ENGINE_MAX_PATH], boot[ENGINE_MAX_PATH], module[ENGINE_MAX_PATH];
    char preload[ENGINE_MAX_PATH + 16], path[PYTHON_MAX_PATH + 32];
    const char *argv[9];
};

void spec_command(const kgrade *engine, const struct device *device, enum device_step step,
                  const struct python *python, struct spec_command *ret);

/* Adds the files that the command names, and what runs them; how many. */
size_t spec_command_binds(const struct spec_command *command, const struct python *python,
                          struct jail_bind *binds, size_t max);

/* spec_environment, with what the command needs.  env points into *command. */
void spec_command_environment(const struct spec_command *command, const struct device *device,
                              enum device_step step, const char *env[SPEC_MAX_VARIABLES]);

#endif
