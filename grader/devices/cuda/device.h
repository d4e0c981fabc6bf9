#ifndef KGRADE_CUDA_DEVICE_H
#define KGRADE_CUDA_DEVICE_H

#include "../../device.h"

extern const struct device device_cuda;

#endif
