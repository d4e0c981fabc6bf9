/* Clocks, temperature, power and what else the kernel's driver tells of a card, from files of sysfs. */
#ifndef KGRADE_HIP_HEALTH_H
#define KGRADE_HIP_HEALTH_H

#include <jansson.h>

/*
 * "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_mw", "busy_percent": what there is.  `root` is "/sys".  With several cards
 * of AMD's it is not known which one is used, and nothing is told.  New reference; NULL: no memory.
 */
json_t *health_read(const char *root);

#endif
