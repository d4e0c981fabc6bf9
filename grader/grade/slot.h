/* Whose turn it is on a device: one grade at a time, first come, first served; or several that take no times, side by side. */
#ifndef KGRADE_SLOT_H
#define KGRADE_SLOT_H

#include "engine.h"

void slot_init(struct device_slot *slot, const struct device *device);
void slot_destroy(struct device_slot *slot);

/* Waits for the device.  While it waits it asks whether to go on (jails_ask_while_waiting); -1 when not: then the device is
 * not held. */
int slot_take(struct device_slot *slot);
/* The same, beside others that share it; who came before still goes first. */
int slot_share(struct device_slot *slot);
void slot_give(struct device_slot *slot);

#endif
