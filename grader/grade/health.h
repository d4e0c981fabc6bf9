/*
 * Whether a device can still be trusted with the next grade.
 *
 * On a device whose faults outlive the process (`fault_is_sticky`), a crash, a hang or want of memory makes the slot
 * suspect; on any other, only a fault that no candidate can have caused does.  A suspect slot must pass the health kernel:
 * the baseline of a task in the engine's folder, on its smallest case, replayed once in fresh processes and judged.  It is
 * recorded at the first check and kept.  A slot that fails is quarantined: grades are refused at once, and the check is
 * made again when somebody asks, at most every HEALTH_RETRY_NS.
 */
#ifndef KGRADE_HEALTH_H
#define KGRADE_HEALTH_H

#include "engine.h"

#define HEALTH_RETRY_NS (10 * IO_NS_PER_S)
#define HEALTH_TASK                                                                                \
    "vector_add" /* whose baseline is the kernel of a check, if there is such a task */
#define HEALTH_TIMEOUT_NS (20 * IO_NS_PER_S) /* of each message to a worker of a check */

/* Without waiting: -1 with `device_quarantined` when the slot is quarantined and no check is due. */
int health_refuse(struct device_slot *slot, struct finding *finding);

/* By whoever has just taken the slot: checks the device if it is suspect, or quarantined and a check is due.  -1 with
 * `device_quarantined`, or `cancelled` while it checked. */
int health_admit(kgrade *engine, struct device_slot *slot, struct finding *finding);

/* By whoever is about to give the slot back, with what came of the grade.  Where spares are kept (servers), a suspect
 * device is checked at once: the time until somebody wants the device again is then free, and the next honest grade finds it
 * checked.  Elsewhere there may be no next grade, and the check is left to it. */
void health_after(kgrade *engine, struct device_slot *slot, const struct finding *finding,
                  bool cancelled);

/* How often the device became suspect. */
unsigned health_faults(struct device_slot *slot);

#endif
