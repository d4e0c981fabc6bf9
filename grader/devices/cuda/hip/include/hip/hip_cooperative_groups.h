/* Cooperative groups: namespace and names are those of CUDA.  A tile has at most 32 lanes. */
#ifndef KGRADE_HIP_COOPERATIVE_GROUPS_H
#define KGRADE_HIP_COOPERATIVE_GROUPS_H

#include "hip_runtime.h"

/* Its libraries have classes that are called like functions of HIP. */
#pragma push_macro("__any")
#pragma push_macro("__all")
#undef __any
#undef __all
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#pragma pop_macro("__all")
#pragma pop_macro("__any")

#endif
