#define _GNU_SOURCE
#include "nvml.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few declarations of nvml.h that are needed, by their documented values. */
typedef int nvml_result; /* 0: success */
typedef void *nvml_device;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };

struct nvml {
    void *library;
    nvml_device device;
    nvml_result (*shutdown)(void);
    nvml_result (*driver_version)(char *, unsigned int);
    nvml_result (*clock)(nvml_device, int, unsigned int *);
    nvml_result (*max_clock)(nvml_device, int, unsigned int *);
    nvml_result (*temperature)(nvml_device, int, unsigned int *);
    nvml_result (*power)(nvml_device, unsigned int *);
    nvml_result (*reasons)(nvml_device, unsigned long long *);
    nvml_result (*processes)(nvml_device, unsigned int *, void *);
};

static void find(void *library, void *function, const char *name, const char *older_name)
{
    void *symbol = dlsym(library, name);
    if (!symbol && older_name)
        symbol = dlsym(library, older_name);
    memcpy(function, &symbol, sizeof symbol);
}

struct nvml *nvml_open(const struct driver_context *context)
{
    char bus[32];
    if (cuDeviceGetPCIBusId(bus, sizeof bus, context->device) != CUDA_SUCCESS)
        return NULL;
    struct nvml *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        driver_trace("no NVML: %s", dlerror());
        free(n);
        return NULL;
    }
    nvml_result (*init)(void);
    nvml_result (*by_bus)(const char *, nvml_device *);
    find(n->library, &init, "nvmlInit_v2", NULL);
    find(n->library, &by_bus, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId");
    find(n->library, &n->shutdown, "nvmlShutdown", NULL);
    find(n->library, &n->driver_version, "nvmlSystemGetDriverVersion", NULL);
    find(n->library, &n->clock, "nvmlDeviceGetClockInfo", NULL);
    find(n->library, &n->max_clock, "nvmlDeviceGetMaxClockInfo", NULL);
    find(n->library, &n->temperature, "nvmlDeviceGetTemperature", NULL);
    find(n->library, &n->power, "nvmlDeviceGetPowerUsage", NULL);
    find(n->library, &n->reasons, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(n->library, &n->processes, "nvmlDeviceGetComputeRunningProcesses_v3", NULL);
    if (!init || !by_bus || init() || by_bus(bus, &n->device)) {
        driver_trace("NVML does not know the device");
        dlclose(n->library);
        free(n);
        return NULL;
    }
    return n;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->shutdown)
        nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

static void set(json_t *object, const char *name, unsigned long long value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* By the bits of nvmlClocksEventReason*. */
static json_t *reason_names(unsigned long long bits)
{
    static const char *const names[] = {
        "idle",
        "application_clocks",
        "software_power_cap",
        "hardware_slowdown",
        "sync_boost",
        "thermal_limit",
        "hardware_thermal",
        "power_brake",
        "display_clock_setting",
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (bits >> i & 1)
            json_array_append_new(list, json_string(names[i]));
    return list;
}

json_t *nvml_health(const struct nvml *nvml)
{
    json_t *health = json_object();
    unsigned int value = 0;
    unsigned long long bits = 0;
    if (!nvml)
        return health;
    if (nvml->clock && !nvml->clock(nvml->device, NVML_CLOCK_SM, &value))
        set(health, "sm_clock_mhz", value);
    if (nvml->clock && !nvml->clock(nvml->device, NVML_CLOCK_MEMORY, &value))
        set(health, "memory_clock_mhz", value);
    if (nvml->temperature && !nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value))
        set(health, "temperature_c", value);
    if (nvml->power && !nvml->power(nvml->device, &value))
        set(health, "power_mw", value);
    if (nvml->reasons && !nvml->reasons(nvml->device, &bits))
        json_object_set_new(health, "throttle_reasons", reason_names(bits));
    unsigned int n = 0;
    /* Asking with room for none gives the number, and says that the room was too small. */
    if (nvml->processes) {
        nvml->processes(nvml->device, &n, NULL);
        set(health, "processes", n);
    }
    return health;
}

void nvml_driver_version(const struct nvml *nvml, char *ret, size_t size)
{
    char version[96] = "";
    if (!nvml || !nvml->driver_version || nvml->driver_version(version, sizeof version))
        version[0] = '\0';
    snprintf(ret, size, "%s", version);
}

unsigned int nvml_max_clock(const struct nvml *nvml, bool memory)
{
    unsigned int value = 0;
    if (!nvml || !nvml->max_clock ||
        nvml->max_clock(nvml->device, memory ? NVML_CLOCK_MEMORY : NVML_CLOCK_SM, &value))
        return 0;
    return value;
}
