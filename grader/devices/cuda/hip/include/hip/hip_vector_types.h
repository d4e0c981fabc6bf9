/* float4 and its like, with arithmetic. */
#ifndef KGRADE_HIP_VECTOR_TYPES_H
#define KGRADE_HIP_VECTOR_TYPES_H

#include "kgrade_vectors.h"

#endif
