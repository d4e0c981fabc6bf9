/* bfloat16: HIP has types of its own name, and CUDA's names for functions. */
#ifndef KGRADE_HIP_BF16_H
#define KGRADE_HIP_BF16_H

#include "hip_runtime.h"

using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using __hip_bfloat16_raw = __nv_bfloat16_raw;
using __hip_bfloat162_raw = __nv_bfloat162_raw;

#endif
