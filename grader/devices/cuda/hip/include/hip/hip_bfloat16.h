/* The older type for bfloat16. */
#ifndef KGRADE_HIP_BFLOAT16_H
#define KGRADE_HIP_BFLOAT16_H

#include "hip_bf16.h"

using hip_bfloat16 = __nv_bfloat16;

#endif
