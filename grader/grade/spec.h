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

enum jail_policy spec_policy(const struct device *device, enum device_step step);

/* device NULL: a compiler.  python: of a candidate in Python its interpreter, else NULL. */
struct jail_limits spec_limits(const struct device *device, enum device_step step,
                               const struct python *python, uint64_t wall_ns);

/* What runs in a worker's jail: a program of ours, or an interpreter that a library of ours makes one. */
struct spec_command {
    char program[ENGINE_MAX_PATH], boot[ENGINE_MAX_PATH], module[ENGINE_MAX_PATH];
    char preload[ENGINE_MAX_PATH + 16], path[PYTHON_MAX_PATH + 32];
    const char *argv[8];
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
