/*
 * The control of a profile: what it costs the candidate that ranges can be noted, and that they are.  Blocks of calls in turn,
 * by a recorder that has no notes built in, by one that has them inactive, and by the same with them active.
 */
#ifndef KGRADE_PROFILE_CONTROL_H
#define KGRADE_PROFILE_CONTROL_H

#include "../record/record.h"

#define CONTROL_ROUNDS 15u

/* request->cases[0] is called.  *ret: [{"label", "compiled", "active", "rounds_ns": [..], "median_ns"}..], a new reference; the first is
 * left out on a device that has no such recorder. */
int control_run(kgrade *engine, const struct record_request *request, json_t **ret,
                struct finding *finding);

#endif
