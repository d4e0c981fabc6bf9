/* The devices that are compiled in: one line each. */
#include "../device.h"

#include <string.h>

#ifdef KGRADE_DEVICE_OPENCL
#include "opencl/device.h"
#endif
#ifdef KGRADE_DEVICE_CUDA
#include "cuda/device.h"
#endif
#include "hip/device.h"

const struct device *const device_registry[] = {
#ifdef KGRADE_DEVICE_OPENCL
    &device_opencl,
#endif
#ifdef KGRADE_DEVICE_CUDA
    &device_cuda,
#endif
    &device_hip,
    NULL,
};

const struct device *device_find(const char *name)
{
    for (size_t i = 0; device_registry[i]; i++)
        if (!strcmp(device_registry[i]->name, name))
            return device_registry[i];
    return NULL;
}

const struct device_language *device_language_find(const struct device *device, const char *name)
{
    for (const struct device_language *l = device->languages; l->name; l++) {
        size_t n = strlen(l->name);
        if (!strncmp(l->name, name, n) && (!name[n] || (l->interpreted && name[n] == ':')))
            return l;
    }
    return NULL;
}

const char *device_names(void)
{
    static _Thread_local char names[256];
    names[0] = 0;
    for (size_t i = 0; device_registry[i]; i++) {
        if (i > 0)
            strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, device_registry[i]->name, sizeof names - strlen(names) - 1);
    }
    return names;
}
