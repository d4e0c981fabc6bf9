/* Functions of the devices' APIs, by what they are for. */
#ifndef KGRADE_PROFILE_GROUPS_H
#define KGRADE_PROFILE_GROUPS_H

#include <stdbool.h>

/* "backend.submit" (launches, device copies and fills, and the setting of their arguments), "backend.memory", "backend.module" (programs,
 * kernels, contexts, queues), "backend.sync" (waiting, events) or "backend.query" (everything else, which
 * mostly asks). */
const char *groups_of(const char *function);

/* Whether each call of it is one launch of a kernel.  Of a runtime function and the driver's that it calls, the driver's. */
bool groups_is_launch(const char *function);

#endif
