/* Figures of the card's state from NVML, which is loaded when it is there. */
#ifndef KGRADE_CUDA_NVML_H
#define KGRADE_CUDA_NVML_H

#include <jansson.h>

#include "driver.h"

struct nvml; /* NULL is allowed everywhere: there is none */

/* NULL when the library or the device is missing. */
struct nvml *nvml_open(const struct driver_context *context);
void nvml_close(struct nvml *nvml);

/* Clocks (MHz), temperature (C), power (mW), reasons for reduced clocks, processes with a context on the card.  An
 * object, empty without NVML; figures that the card does not give are left out.  New reference. */
json_t *nvml_health(const struct nvml *nvml);

/* The driver's version, "" when unknown. */
void nvml_driver_version(const struct nvml *nvml, char *ret, size_t size);

/* The highest clock of multiprocessors and memory, MHz; 0 when unknown. */
unsigned int nvml_max_clock(const struct nvml *nvml, bool memory);

#endif
