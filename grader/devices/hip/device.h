#ifndef KGRADE_HIP_DEVICE_H
#define KGRADE_HIP_DEVICE_H

#include "../../device.h"

extern const struct device device_hip;

#endif
