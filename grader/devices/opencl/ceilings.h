/* What this OpenCL device reaches at best, measured with kernels of our own; for the roofline. */
#ifndef KGRADE_OPENCL_CEILINGS_H
#define KGRADE_OPENCL_CEILINGS_H

#include <jansson.h>

#include "pick.h"

/* {"memory_bytes_per_s", "cache_bytes_per_s", "operations_per_s"}; best of several runs. New reference; NULL with
 * `device_failed`. */
json_t *ceilings_measure(const struct pick *pick, kgrade_error *err);

#endif
