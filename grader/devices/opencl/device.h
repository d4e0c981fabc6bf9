#ifndef KGRADE_OPENCL_DEVICE_H
#define KGRADE_OPENCL_DEVICE_H

#include "../../device.h"

extern const struct device device_opencl;

#endif
