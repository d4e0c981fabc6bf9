/* What the grader knows of the OpenCL device. */
#include "../../device.h"

#include <unistd.h>

#include "../../../sandbox/base/fail.h"
#include "device.h"

/* For candidates that name ranges with NVTX. */
#define NVTX_FOLDER "/usr/local/cuda/include"
#define NVTX_HEADER NVTX_FOLDER "/nvtx3/nvToolsExt.h"

static const char *const allowed_flags[] = {"-O1", "-O3", "-ffast-math", "-D@", NULL};

static const struct device_language languages[] = {
    {"c", "candidate.c", "baseline.opencl.c", allowed_flags, false},
    {"python", "candidate.py", NULL, NULL, true},
    {NULL, NULL, NULL, NULL, false},
};

static int compile(const struct device_language *language, const char *target,
                   const char *argv[DEVICE_MAX_COMPILE_ARGS], kgrade_error *err)
{
    (void)language;
    (void)target;
    static const char *const compilers[] = {"/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"};
    static const char *const arguments[] = {"-std=gnu17",
                                            "-O2",
                                            "-fPIC",
                                            "-shared",
                                            "-fdiagnostics-color=never",
                                            "-DCL_TARGET_OPENCL_VERSION=300",
                                            "-Wl,-z,now",
                                            "-o",
                                            "/out/candidate.so",
                                            "/src/candidate.c",
                                            "-lm"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof compilers / sizeof compilers[0] && n == 0; i++)
        if (access(compilers[i], X_OK) == 0)
            argv[n++] = compilers[i];
    if (n == 0)
        return fail(err, "compiler_missing", "Install a C compiler: apt-get install gcc.",
                    "There is no C compiler on this machine.");
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
        argv[n++] = arguments[i];
    /* Behind all other folders: the toolkit has OpenCL headers, too. */
    if (access(NVTX_HEADER, R_OK) == 0) {
        argv[n++] = "-idirafter";
        argv[n++] = NVTX_FOLDER;
    }
    argv[n] = NULL;
    return 0;
}

/* PoCL looks at the processors, reads its vendor file, and runs the linker to make a kernel's code. */
static size_t binds(enum device_step step, struct jail_bind *to, size_t max)
{
    static const struct jail_bind needed[] = {
        {.source = "/etc/OpenCL", .optional = true},
        {.source = "/sys/devices/system", .optional = true},
    };
    if (step == STEP_BUILD || step == STEP_JUDGE)
        return 0;
    size_t n = 0;
    for (; n < sizeof needed / sizeof needed[0] && n < max; n++)
        to[n] = needed[n];
    return n;
}

static size_t environment(enum device_step step, const char **env, size_t max)
{
    if (step != STEP_RECORD && step != STEP_REPLAY)
        return 0;
    /* PyOpenCL's cache would make programs from binaries, whose source nobody knows. */
    static const char *const wanted[] = {"POCL_CACHE_DIR=/tmp/pocl", "PYOPENCL_NO_CACHE=1"};
    size_t n = 0;
    for (; n < sizeof wanted / sizeof wanted[0] && n < max; n++)
        env[n] = wanted[n];
    return n;
}

const struct device device_opencl = {
    .name = "opencl",
    .languages = languages,
    .recorder = "kgrade-record-opencl",
    .plain_recorder = "kgrade-record-opencl-plain",
    .replayer = "kgrade-replay-opencl",
    .judge = "kgrade-judge-opencl",
    .shares_arena = false,
    .runs_in_replayer = true,
    .compile = compile,
    .binds = binds,
    .environment = environment,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    .memory_bytes = 0, /* a sanitizer's shadow memory takes terabytes of address space */
#else
    .memory_bytes = 16ull << 30,
#endif
};
