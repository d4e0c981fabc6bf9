/* What the two files about AgentKernelArena share. */
#ifndef KGRADE_REGRADE_ARENA_CONFIGS_H
#define KGRADE_REGRADE_ARENA_CONFIGS_H

#include "board.h"

/* Why its entries are not graded. */
extern const char arena_needs_python[], arena_needs_amd[];
/* Whether a name is of something for AMD's cards. */
bool arena_is_for_amd(const char *text);

/* Whether FOLDER/tasks holds tasks of it. */
bool arena_has_configs(const char *folder);
/* A kernel in Triton whose harness is of the common form becomes a problem; *ret stays as it is where it is not. */
int arena_carry(const char *folder, const json_t *config, const struct regrade_sink *sink,
                struct regrade_carried *ret, kgrade_error *err);
/* The candidate of such a problem that is the kernel that it begins with. */
const char *arena_first_candidate(void);

int arena_take_configs(const char *folder, const char *board, const struct regrade_sink *sink,
                       kgrade_error *err);

#endif
