/* What a kernel of a code object takes, for people; see describe_kernel in device.h. */
#ifndef KGRADE_HIP_DESCRIBE_H
#define KGRADE_HIP_DESCRIBE_H

#include <jansson.h>

json_t *hip_describe_kernel(const void *image, size_t size, const char *kernel);

#endif
