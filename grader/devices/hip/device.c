/* What the grader's own process knows of HIP: compiler, libraries, device nodes.  It never loads the runtime. */
#define _GNU_SOURCE
#include "device.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "describe.h"

#define MAX_PATH 4096
#define MAX_NODES 24
#define MAX_TARGETS 16
#define FIRST_CLANG 15 /* Debian's oldest that compiles HIP against its own packages */
#define LAST_CLANG 99
#define COMPRESSING_CLANG 18  /* the first that knows --no-offload-compress */
#define COMPRESSING_RELEASE 7 /* of ROCm: may do so by itself */
#define DEFAULT_TARGET "gfx90a"
#define SOURCE "candidate.hip"
#define SOURCE_PATH "/src/candidate.hip"
#define RUNTIME_VARIABLE "KGRADE_HIP_RUNTIME"

/* Read once; never changed afterwards. */
static struct {
    char root[MAX_PATH]; /* of ROCm; "" when there is none */
    char clang[MAX_PATH + 64];
    char rocm_option[MAX_PATH + 32], library_option[MAX_PATH + 64]; /* "": not needed */
    bool
        may_compress; /* clang compresses code objects unless it is told not to; older ones do not know how */
    char nodes[MAX_NODES][64];
    size_t n_nodes;
    char runtime[MAX_PATH], runtime_folder[MAX_PATH]; /* in place of libamdhip64; "": none named */
    char runtime_setting[MAX_PATH + 32];
    char library_path[MAX_PATH + 64];
    char debug[64], visible[256], hip_visible[256];
} machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

/* ROCM/.info/version: "7.2.1-81" */
static int release_major(const char *root)
{
    char path[MAX_PATH + 64], text[64] = "";
    snprintf(path, sizeof path, "%.4000s/.info/version", root);
    cleanup_file FILE *file = fopen(path, "re");
    return file && fgets(text, sizeof text, file) ? (int)strtol(text, NULL, 10) : 0;
}

/* A ROCm release: its own clang, and everything else in one folder. */
static bool find_release(const char *root)
{
    static const char *const clangs[] = {"lib/llvm/bin/clang++", "llvm/bin/clang++"};
    char path[MAX_PATH + 64];
    for (size_t i = 0; root && *root && i < sizeof clangs / sizeof clangs[0]; i++) {
        snprintf(path, sizeof path, "%.4000s/%s", root, clangs[i]);
        /* The real folder: a link to it need not exist in a jail. */
        if (access(path, X_OK) == 0 && realpath(root, machine.root)) {
            snprintf(machine.clang, sizeof machine.clang, "%s/%s", machine.root, clangs[i]);
            snprintf(machine.rocm_option, sizeof machine.rocm_option, "--rocm-path=%s",
                     machine.root);
            machine.may_compress = release_major(machine.root) >= COMPRESSING_RELEASE;
            return true;
        }
    }
    machine.root[0] = '\0';
    return false;
}

/* Debian's packages: hipcc's clang, the headers of libamdhip64-dev, the bitcode of rocm-device-libs. */
static void find_debian(void)
{
    static const char *const libraries[] = {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                                            "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
                                            "/usr/amdgcn/bitcode"};
    char path[64], resource[128];
    if (access("/usr/include/hip/hip_runtime.h", R_OK))
        return;
    for (int version = FIRST_CLANG; version <= LAST_CLANG; version++) {
        snprintf(path, sizeof path, "/usr/bin/clang++-%d", version);
        snprintf(resource, sizeof resource, "/usr/lib/llvm-%d/lib/clang/%d/amdgcn/bitcode", version,
                 version);
        if (access(path, X_OK))
            continue;
        const char *found = access(resource, R_OK) == 0 ? resource : NULL;
        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && !found; i++)
            found = access(libraries[i], R_OK) == 0 ? libraries[i] : NULL;
        if (!found)
            continue;
        /* The oldest: the one that the packages were made for. */
        strcpy(machine.clang, path);
        strcpy(machine.rocm_option, "--rocm-path=/usr");
        snprintf(machine.library_option, sizeof machine.library_option, "--hip-device-lib-path=%s",
                 found);
        machine.may_compress = version >= COMPRESSING_CLANG;
        return;
    }
}

static void add_nodes(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc && machine.n_nodes < MAX_NODES; i++) {
        struct stat st;
        if (stat(found.gl_pathv[i], &st) == 0 && S_ISCHR(st.st_mode) &&
            strlen(found.gl_pathv[i]) < sizeof machine.nodes[0])
            strcpy(machine.nodes[machine.n_nodes++], found.gl_pathv[i]);
    }
    globfree(&found);
}

static void copy_variable(char *to, size_t size, const char *name)
{
    const char *value = getenv(name);
    int n = value && *value ? snprintf(to, size, "%s=%s", name, value) : 0;
    if (n <= 0 || (size_t)n >= size)
        to[0] = '\0'; /* not set, or longer than anything sensible */
}

/* What an operator has named in place of HIP's library. */
static void find_runtime(void)
{
    const char *named = getenv(RUNTIME_VARIABLE);
    if (!named || named[0] != '/' || !realpath(named, machine.runtime))
        return;
    snprintf(machine.runtime_setting, sizeof machine.runtime_setting, "%s=%s", RUNTIME_VARIABLE,
             machine.runtime);
    strcpy(machine.runtime_folder, machine.runtime);
    *strrchr(machine.runtime_folder, '/') = '\0';
}

static void look_at_machine(void)
{
    if (!find_release(getenv("KGRADE_ROCM")) && !find_release("/opt/rocm"))
        find_debian();
    if (machine.root[0])
        snprintf(machine.library_path, sizeof machine.library_path, "LD_LIBRARY_PATH=%s/lib",
                 machine.root);
    add_nodes("/dev/kfd");
    add_nodes("/dev/dri/renderD*");
    find_runtime();
    copy_variable(machine.debug, sizeof machine.debug, "KGRADE_DEBUG");
    copy_variable(machine.visible, sizeof machine.visible, "ROCR_VISIBLE_DEVICES");
    copy_variable(machine.hip_visible, sizeof machine.hip_visible, "HIP_VISIBLE_DEVICES");
}

/* "gfx90a", "gfx90a:sramecc+:xnack-" */
static bool is_target(const char *text)
{
    if (strncmp(text, "gfx", 3))
        return false;
    size_t n = strspn(text + 3, "0123456789abcdef");
    const char *rest = text + 3 + n;
    if (n < 3 || n > 8)
        return false;
    while (*rest == ':') {
        size_t word = strspn(rest + 1, "abcdefghijklmnopqrstuvwxyz");
        if (word == 0 || word > 16 || (rest[word + 1] != '+' && rest[word + 1] != '-'))
            return false;
        rest += word + 2;
    }
    return *rest == '\0' && rest - text < 60;
}

/* The option for a target, which lives as long as the process.  NULL: too many different ones. */
static const char *target_option(const char *target)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char options[MAX_TARGETS][96];
    static size_t n;
    const char *found = NULL;
    char wanted[96];
    snprintf(wanted, sizeof wanted, "--offload-arch=%.60s", target);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n && !found; i++)
        if (!strcmp(options[i], wanted))
            found = options[i];
    if (!found && n < MAX_TARGETS)
        found = strcpy(options[n++], wanted);
    pthread_mutex_unlock(&lock);
    return found;
}

static int compile(const struct device_language *language, const char *target,
                   const char *argv[DEVICE_MAX_COMPILE_ARGS], kgrade_error *err)
{
    (void)language;
    static const char *const flags[] = {
        "-x", "hip", "-O3", "-std=c++17", "-shared", "-fPIC", "-fno-color-diagnostics",
        /* As hipcc has it. */
        "-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false",
        /* The recorder has the functions of HIP's library; whoever loads the candidate need not have it. */
        "-no-hip-rt", "-Wl,-z,now", "-o", "/out/candidate.so", SOURCE_PATH};
    pthread_once(&machine_once, look_at_machine);
    if (!machine.clang[0])
        return fail(err, "compiler_missing",
                    "Install ROCm (or Debian's hipcc, libamdhip64-dev and rocm-device-libs), or "
                    "set KGRADE_ROCM to its folder.",
                    "There is no compiler for HIP in /opt/rocm or /usr.");
    size_t n = 0;
    argv[n++] = machine.clang;
    argv[n++] = target_option(is_target(target) ? target : DEFAULT_TARGET);
    if (!argv[1])
        return fail(err, "compiler_missing", NULL, "More than %d different targets were asked for.",
                    MAX_TARGETS);
    argv[n++] = machine.rocm_option;
    if (machine.library_option[0])
        argv[n++] = machine.library_option;
    if (machine.may_compress)
        argv[n++] = "--no-offload-compress";
    memcpy(argv + n, flags, sizeof flags);
    argv[n + sizeof flags / sizeof flags[0]] = NULL;
    return 0;
}

static size_t binds(enum device_step step, struct jail_bind *ret, size_t max)
{
    /* What the runtime asks about the machine's shape, and what tells clocks and temperature. */
    static const char *const system_folders[] = {"/sys/devices", "/sys/class/kfd", "/sys/class/drm",
                                                 "/sys/bus/pci", "/sys/module/amdgpu"};
    pthread_once(&machine_once, look_at_machine);
    size_t n = 0;
    if (machine.root[0] && n < max)
        ret[n++] = (struct jail_bind){.source = machine.root, .optional = true};
    if (step == STEP_BUILD || step == STEP_JUDGE)
        return n;
    if (machine.runtime_folder[0] && n < max)
        ret[n++] = (struct jail_bind){.source = machine.runtime_folder, .optional = true};
    for (size_t i = 0; i < machine.n_nodes && n < max; i++)
        ret[n++] = (struct jail_bind){
            .source = machine.nodes[i], .writable = true, .optional = true, .device = true};
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0] && n < max; i++)
        ret[n++] = (struct jail_bind){.source = system_folders[i], .optional = true};
    return n;
}

static size_t environment(enum device_step step, const char **env, size_t max)
{
    pthread_once(&machine_once, look_at_machine);
    const char *const wanted[] = {machine.library_path, machine.runtime_setting, machine.debug,
                                  machine.visible, machine.hip_visible};
    size_t n = 0;
    if (step != STEP_RECORD && step != STEP_REPLAY)
        return 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (wanted[i][0] && n < max)
            env[n++] = wanted[i];
    return n;
}

static const char *const allowed_flags[] = {
    "-ffast-math", "-ffp-contract=off", "-munsafe-fp-atomics", "-std=c++20", "-D@", NULL,
};

static const struct device_language languages[] = {
    {"hip", SOURCE, "baseline.hip.hip", allowed_flags, false},
    {NULL, NULL, NULL, NULL, false},
};

const struct device device_hip = {
    .name = "hip",
    .languages = languages,
    .recorder = "kgrade-record-hip",
    .replayer = "kgrade-replay-hip",
    .judge = "kgrade-judge-hip",
    .fault_is_sticky = true,
    .baseline_first = true,
    .compile = compile,
    .binds = binds,
    .environment = environment,
    .describe_kernel = hip_describe_kernel,
    .memory_bytes = 0, /* the runtime reserves address space by the terabyte */
};
