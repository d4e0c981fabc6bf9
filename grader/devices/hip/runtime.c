#define _GNU_SOURCE
#include "runtime.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"

#define PROPERTIES_BYTES                                                                           \
    8192               /* a device's properties have about 800 bytes in version 5, 1500 in 6 */
#define NAME_BYTES 256 /* with which they begin */
#define NODE "/dev/kfd"
#define DEVICE_HINT                                                                                \
    "Run `kgrade doctor`; the amdgpu driver must be loaded, and /dev/kfd and /dev/dri/renderD* "   \
    "open to kgrade's user (groups render and video)."
#define LIBRARY_HINT "Install ROCm's HIP library, or name the file with " RUNTIME_VARIABLE "."

/* The recorder has functions of the same names, which the library must not find in place of its own.  Sanitizers forbid it; the
 * library then has to be linked so that it finds its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

struct runtime hip;

void runtime_trace(const char *format, ...)
{
    const char *wanted = getenv("KGRADE_DEBUG");
    if (!wanted || !*wanted)
        return;
    char line[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    fprintf(stderr, "kgrade hip: %s\n", line);
}

int runtime_fail(kgrade_error *err, const char *code, hip_error result, const char *what)
{
    const char *name = hip.hipGetErrorName ? hip.hipGetErrorName(result) : NULL;
    const char *text = hip.hipGetErrorString ? hip.hipGetErrorString(result) : NULL;
    return fail(err, code, DEVICE_HINT, "%s: %s (%d), %s.", what, name ? name : "unknown error",
                result, text ? text : "no description");
}

const char *runtime_kernel_fault(hip_error result)
{
    switch (result) {
    case HIP_ERROR_ILLEGAL_ADDRESS:
        return "A kernel used an address that is not mapped";
    case HIP_ERROR_LAUNCH_TIMEOUT:
        return "A kernel ran into the driver's time limit";
    case HIP_ERROR_ASSERT:
        return "A kernel's assert failed";
    case HIP_ERROR_LAUNCH_FAILURE:
        return "A kernel trapped";
    default:
        return NULL;
    }
}

void runtime_version_text(int version, char *ret, size_t size)
{
    snprintf(ret, size, "%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
}

bool runtime_find_target(const void *properties, size_t size, char *ret, size_t ret_size)
{
    const char *all = properties;
    for (size_t i = NAME_BYTES; i + 4 < size; i++) {
        if (memcmp(all + i, "gfx", 3) || all[i - 1] != 0)
            continue;
        size_t n = strnlen(all + i, size - i);
        if (n < 4 || n >= ret_size || i + n == size)
            return false;
        memcpy(ret, all + i, n + 1);
        return true;
    }
    return false;
}

/* Graph replay corrupts results in about one process in five: ROCm/clr#279. */
static bool is_corrupting(int version, const char *release)
{
    int major = 0, minor = 0, patch = 0;
    if (version / 100000 != 702)
        return false;
    /* Nothing tells which release it is: then it is taken for one of those. */
    if (sscanf(release, "%d.%d.%d", &major, &minor, &patch) != 3)
        patch = version % 100000 < 100 ? version % 100000 : 0;
    return patch <= 3;
}

int runtime_check_version(int version, const char *release, const char *target, char *ret_warning,
                          size_t size, kgrade_error *err)
{
    char text[32];
    ret_warning[0] = '\0';
    runtime_version_text(version, text, sizeof text);
    if (!is_corrupting(version, release))
        return 0;
    if (!strncmp(target, "gfx942", 6))
        return fail(err, "runtime_known_bad", "Install another version of ROCm.",
                    "ROCm 7.2.0 to 7.2.3 replays graphs wrongly on %s, in about one process in "
                    "five (ROCm/clr#279); this is version %s.",
                    target, text);
    snprintf(ret_warning, size,
             "ROCm 7.2.0 to 7.2.3 replays graphs wrongly on MI300X (ROCm/clr#279); this is "
             "version %s on %.60s",
             text, target);
    return 0;
}

/* ROCM/lib/libamdhip64.so.7 -> ROCM/.info/version */
static void read_release(const char *library, char *ret, size_t size)
{
    char path[4096 + 32], *slash;
    ret[0] = '\0';
    snprintf(path, sizeof path, "%s", library);
    for (int up = 0; up < 2; up++) {
        slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    strcat(path, "/.info/version");
    cleanup_file FILE *file = fopen(path, "re");
    if (file && fgets(ret, (int)size, file))
        ret[strcspn(ret, "\n")] = '\0';
}

/* The driver's door, before the library, whose own words say less. */
static int check_node(kgrade_error *err)
{
    const char *named = getenv(RUNTIME_VARIABLE);
    if (named && *named) /* whatever that needs */
        return 0;
    if (access(NODE, F_OK))
        return fail(err, "device_failed",
                    "Load the amdgpu driver; in a container pass --device " NODE
                    " --device /dev/dri.",
                    "There is no " NODE ": this machine has no AMD card that computes, or it is "
                    "not given to kgrade.");
    if (access(NODE, R_OK | W_OK))
        return fail(err, "device_failed",
                    "Open " NODE
                    " and /dev/dri/renderD* to the user of the jails; deploy/README.md "
                    "tells how.",
                    NODE " may not be opened by the user whom jails run as.");
    return 0;
}

static int open_library(kgrade_error *err)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    const char *named = getenv(RUNTIME_VARIABLE);
    char first[256] = "";
    if (named && *named) {
        hip.library = dlopen(named, OPEN_FLAGS);
        snprintf(first, sizeof first, "%.250s", hip.library ? "" : dlerror());
    }
    for (size_t i = 0; !(named && *named) && !hip.library && i < sizeof names / sizeof names[0];
         i++) {
        hip.library = dlopen(names[i], OPEN_FLAGS);
        if (!hip.library && !first[0])
            snprintf(first, sizeof first, "%.250s", dlerror());
        named = hip.library ? names[i] : NULL;
    }
    if (!hip.library)
        return fail(err, "device_failed", LIBRARY_HINT, "HIP's library cannot be loaded: %s.",
                    first);
    snprintf(hip.path, sizeof hip.path, "%s", named);
    return 0;
}

static void find(const char *name, void *slot)
{
    void *symbol = dlsym(hip.library, name);
    memcpy(slot, &symbol, sizeof symbol);
}

/* Where the library lies, by a function of it. */
static void find_path(void)
{
    Dl_info info;
    void *function;
    memcpy(&function, &hip.hipMalloc, sizeof function);
    if (function && dladdr(function, &info) && info.dli_fname && info.dli_fname[0] == '/')
        snprintf(hip.path, sizeof hip.path, "%s", info.dli_fname);
}

static void miss(char *missing, size_t size, const char *name)
{
    size_t used = strlen(missing);
    snprintf(missing + used, size - used, "%s%s", used ? ", " : "", name);
}

static int find_functions(enum runtime_need need, kgrade_error *err)
{
    char missing[700] = "";
#define FIND(name, arguments) find(#name, &hip.name);
#define NEED(name, arguments)                                                                      \
    if (!hip.name)                                                                                 \
        miss(missing, sizeof missing, #name);
    RUNTIME_REQUIRED(FIND)
    RUNTIME_REPLAY(FIND)
    RUNTIME_OPTIONAL(FIND)
    find("hipGetErrorName", &hip.hipGetErrorName);
    find("hipGetErrorString", &hip.hipGetErrorString);
    RUNTIME_REQUIRED(NEED)
    if (need == RUNTIME_FOR_REPLAY) {
        RUNTIME_REPLAY(NEED)
    }
#undef FIND
#undef NEED
    if (!hip.hipGetErrorName)
        miss(missing, sizeof missing, "hipGetErrorName");
    if (!hip.hipGetErrorString)
        miss(missing, sizeof missing, "hipGetErrorString");
    if (!hip.hipGetDevicePropertiesR0600 && !hip.hipGetDeviceProperties)
        miss(missing, sizeof missing, "hipGetDeviceProperties");
    find_path();
    if (missing[0])
        return fail(err, "runtime_incomplete", "Install a ROCm release from 5.2 to 7.",
                    "HIP's library %.200s lacks %s.", hip.path, missing);
    return 0;
}

static int find_target(kgrade_error *err)
{
    cleanup_free char *properties = calloc(1, PROPERTIES_BYTES);
    if (!properties)
        return fail(err, "out_of_memory", NULL, "No memory for a device's properties.");
    hip_error result = hip.hipGetDevicePropertiesR0600
                           ? hip.hipGetDevicePropertiesR0600(properties, 0)
                           : hip.hipGetDeviceProperties(properties, 0);
    if (result != HIP_SUCCESS)
        return runtime_fail(err, "device_failed", result, "Asking for the device's properties");
    if (!runtime_find_target(properties, PROPERTIES_BYTES, hip.target, sizeof hip.target))
        return fail(err, "device_failed", DEVICE_HINT, "The device does not tell its target.");
    return 0;
}

int runtime_open(enum runtime_need need, kgrade_error *err)
{
    int devices = 0;
    char release[64];
    if (hip.is_open)
        return 0;
    if (check_node(err) || open_library(err) || find_functions(need, err))
        return -1;
    RUNTIME_TRY(err, hip.hipRuntimeGetVersion(&hip.version));
    hip_error counted = hip.hipGetDeviceCount(&devices);
    if (counted != HIP_SUCCESS && counted != HIP_ERROR_NO_DEVICE)
        return runtime_fail(err, "device_failed", counted, "Counting devices");
    if (devices <= 0)
        return fail(err, "device_failed", DEVICE_HINT, "HIP sees no device.");
    RUNTIME_TRY(err, hip.hipSetDevice(0));
    read_release(hip.path, release, sizeof release);
    if (find_target(err) || runtime_check_version(hip.version, release, hip.target, hip.warning,
                                                  sizeof hip.warning, err))
        return -1;
    hip.can_map = hip.version >= RUNTIME_MAPS_FROM && hip.hipMemGetAllocationGranularity &&
                  hip.hipMemAddressReserve && hip.hipMemAddressFree && hip.hipMemCreate &&
                  hip.hipMemRelease && hip.hipMemMap && hip.hipMemUnmap && hip.hipMemSetAccess;
    hip.has_edges = hip.hipStreamGetCaptureInfo_v2 && hip.hipStreamUpdateCaptureDependencies;
    hip.is_open = true;
    runtime_trace("%s, version %d, %s", hip.path, hip.version, hip.target);
    return 0;
}
