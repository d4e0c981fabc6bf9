/* fp8 as the Open Compute Project defines it.  The "fnuz" types of some AMD cards have no counterpart on an NVIDIA card. */
#ifndef KGRADE_HIP_FP8_H
#define KGRADE_HIP_FP8_H

#include "hip_runtime.h"

#include <cuda_fp8.h>

using __hip_fp8_e4m3 = __nv_fp8_e4m3;
using __hip_fp8_e5m2 = __nv_fp8_e5m2;
using __hip_fp8x2_e4m3 = __nv_fp8x2_e4m3;
using __hip_fp8x2_e5m2 = __nv_fp8x2_e5m2;
using __hip_fp8x4_e4m3 = __nv_fp8x4_e4m3;
using __hip_fp8x4_e5m2 = __nv_fp8x4_e5m2;
using __hip_fp8_storage_t = __nv_fp8_storage_t;

#endif
