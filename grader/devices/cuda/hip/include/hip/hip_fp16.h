/* Half precision: types and functions have the same names in HIP and CUDA. */
#ifndef KGRADE_HIP_FP16_H
#define KGRADE_HIP_FP16_H

#include "hip_runtime.h"

#endif
