/* The metadata of an AMDGPU code object: its target and its kernels. */
#ifndef KGRADE_HIP_METADATA_H
#define KGRADE_HIP_METADATA_H

#include "code_object.h"

/* Fills target and kernels of `ret`; what is filled when it fails is freed by code_object_free. -1 with `image_invalid`. */
int metadata_read(const uint8_t *data, size_t size, struct code_object *ret, kgrade_error *err);

#endif
