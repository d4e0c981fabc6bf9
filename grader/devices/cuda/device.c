/* What the grader's own process knows of CUDA: compiler, libraries, device nodes.  It never loads the driver. */
#define _GNU_SOURCE
#include "device.h"

#include <ctype.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../sandbox/base/fail.h"
#include "cubin.h"

#define MAX_PATH 4096
#define MAX_NODES 24
#define MAX_FOLDERS 12
#define MAX_TARGETS 16
#define DEFAULT_TARGET "sm_90"
#define CUDA_SOURCE "candidate.cu"
#define CUDA_PATH "/src/candidate.cu" /* where the build jail has it */
#define HIP_LANGUAGE "hip"
#define HIP_SOURCE "candidate.hip"
#define HIP_PATH "/src/candidate.hip"
/* cuBLAS takes 32 MiB for each handle on Hopper; what autotuners write between two runs to empty the cache is 256 MiB. */
#define FRAMEWORK_BYTES (512ull << 20)
#define REFERENCE_SOURCE "reference.cuda.cu"
#define REFERENCE_PATH "/src/reference.cuda.cu"

/* Where a toolkit may be, after $KGRADE_CUDA; the first with bin/nvcc is taken. */
static const char *const toolkits[] = {KGRADE_CUDA_ROOT, "/usr/local/cuda", "/opt/cuda"};

/* Where the driver's libraries may be. */
static const char *const driver_folders[] = {
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
};

/* Read once; never changed afterwards. */
static struct {
    char root[MAX_PATH]; /* of the toolkit; "" when there is none */
    char nvcc[MAX_PATH + 64];
    char home[MAX_PATH + 64]; /* CUDA_HOME=root */
    char nodes[MAX_NODES][64];
    size_t n_nodes;
    char folders[MAX_FOLDERS][MAX_PATH]; /* of libraries */
    size_t n_folders;
    char library_path[(MAX_FOLDERS + 2) * 256];
    char triton[MAX_PATH + 64]; /* TRITON_LIBCUDA_PATH=folder */
    char debug[64], visible[256];
} machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

static void find_toolkit(void)
{
    const char *wanted = getenv("KGRADE_CUDA");
    for (size_t i = 0; i <= sizeof toolkits / sizeof toolkits[0]; i++) {
        const char *root = i == 0 ? wanted : toolkits[i - 1];
        char path[MAX_PATH + 64];
        if (!root || !*root)
            continue;
        snprintf(path, sizeof path, "%.4000s/bin/nvcc", root);
        /* The real folder: a link to it need not exist in a jail. */
        if (access(path, X_OK) == 0 && realpath(root, machine.root)) {
            snprintf(machine.nvcc, sizeof machine.nvcc, "%s/bin/nvcc", machine.root);
            return;
        }
    }
    machine.root[0] = '\0';
}

static void find_nodes(void)
{
    glob_t found;
    if (glob("/dev/nvidia*", 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc && machine.n_nodes < MAX_NODES; i++) {
        struct stat st;
        if (stat(found.gl_pathv[i], &st) == 0 && S_ISCHR(st.st_mode) &&
            strlen(found.gl_pathv[i]) < sizeof machine.nodes[0])
            strcpy(machine.nodes[machine.n_nodes++], found.gl_pathv[i]);
    }
    globfree(&found);
}

static void add_folder(const char *path)
{
    char real[MAX_PATH];
    if (machine.n_folders == MAX_FOLDERS || path[0] != '/' || !realpath(path, real) ||
        strlen(real) > 250)
        return;
    for (size_t i = 0; i < machine.n_folders; i++)
        if (!strcmp(machine.folders[i], real))
            return;
    snprintf(machine.folders[machine.n_folders++], MAX_PATH, "%s", real);
}

/* The toolkit's, the driver's, and those that the grader itself was told of: its workers are linked like itself. */
static void find_folders(void)
{
    char path[MAX_PATH + 64];
    if (machine.root[0]) {
        snprintf(path, sizeof path, "%s/lib64", machine.root);
        add_folder(path);
        snprintf(path, sizeof path, "%s/extras/CUPTI/lib64", machine.root);
        add_folder(path);
    }
    for (size_t i = 0; i < sizeof driver_folders / sizeof driver_folders[0]; i++) {
        snprintf(path, sizeof path, "%s/libcuda.so.1", driver_folders[i]);
        if (access(path, R_OK) == 0)
            add_folder(driver_folders[i]);
    }
    const char *own = getenv("LD_LIBRARY_PATH");
    char *copy = own ? strdup(own) : NULL, *rest = copy;
    for (const char *folder; rest && (folder = strsep(&rest, ":"));)
        add_folder(folder);
    free(copy);

    size_t used =
        (size_t)snprintf(machine.library_path, sizeof machine.library_path, "LD_LIBRARY_PATH=");
    for (size_t i = 0; i < machine.n_folders; i++)
        used += (size_t)snprintf(machine.library_path + used, sizeof machine.library_path - used,
                                 "%s%s", i ? ":" : "", machine.folders[i]);
}

static void copy_variable(char *to, size_t size, const char *name)
{
    const char *value = getenv(name);
    int n = value && *value ? snprintf(to, size, "%s=%s", name, value) : 0;
    if (n <= 0 || (size_t)n >= size)
        to[0] = '\0'; /* not set, or longer than anything sensible */
}

/* Triton looks in the loader's cache alone, which need not have the driver. */
static void find_driver(void)
{
    char path[MAX_PATH + 64];
    for (size_t i = 0; i < machine.n_folders && !machine.triton[0]; i++) {
        snprintf(path, sizeof path, "%s/libcuda.so.1", machine.folders[i]);
        if (access(path, R_OK) == 0)
            snprintf(machine.triton, sizeof machine.triton, "TRITON_LIBCUDA_PATH=%s",
                     machine.folders[i]);
    }
}

static void look_at_machine(void)
{
    find_toolkit();
    if (machine.root[0])
        snprintf(machine.home, sizeof machine.home, "CUDA_HOME=%s", machine.root);
    find_nodes();
    find_folders();
    find_driver();
    copy_variable(machine.debug, sizeof machine.debug, "KGRADE_DEBUG");
    copy_variable(machine.visible, sizeof machine.visible, "CUDA_VISIBLE_DEVICES");
}

static bool is_target(const char *text)
{
    if (strncmp(text, "sm_", 3) || strlen(text) > 8)
        return false;
    size_t digits = strspn(text + 3, "0123456789");
    const char *rest = text + 3 + digits;
    return (digits == 2 || digits == 3) &&
           (*rest == '\0' || ((*rest == 'a' || *rest == 'f') && rest[1] == '\0'));
}

/* The option for a target, which lives as long as the process.  NULL: too many different ones. */
static const char *target_option(const char *target)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char options[MAX_TARGETS][64];
    static size_t n;
    const char *found = NULL;
    char wanted[64];
    /* Machine code only: PTX for a later driver would cost a third of the compiler's time. */
    snprintf(wanted, sizeof wanted, "-gencode=arch=compute_%.8s,code=%.8s", target + 3, target);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n && !found; i++)
        if (!strcmp(options[i], wanted))
            found = options[i];
    if (!found && n < MAX_TARGETS)
        found = strcpy(options[n++], wanted);
    pthread_mutex_unlock(&lock);
    return found;
}

#define BEGIN_ARGS 3 /* of every command line */

/* nvcc, the architecture, and that host and device code are compiled side by side, which saves a fifth of the time. */
static int begin_command(const char *target, const char *argv[BEGIN_ARGS], kgrade_error *err)
{
    pthread_once(&machine_once, look_at_machine);
    if (!machine.root[0])
        return fail(err, "compiler_missing",
                    "Install the CUDA Toolkit, or set KGRADE_CUDA to its folder.",
                    "There is no nvcc in %s or /usr/local/cuda.", KGRADE_CUDA_ROOT);
    argv[0] = machine.nvcc;
    argv[1] = target_option(is_target(target) ? target : DEFAULT_TARGET);
    argv[2] = "--threads=2";
    return argv[1] ? 0
                   : fail(err, "compiler_missing", NULL,
                          "More than %d different architectures were asked for.", MAX_TARGETS);
}

/* HIP is CUDA with other names, which the headers in hip/ give: see there.  Returns how many arguments. */
static size_t add_hip(const char **argv)
{
    static const char *const arguments[] = {
        "-isystem", DEVICE_HEADERS, "-D__HIP_PLATFORM_NVIDIA__=1", "-D__HIPCC__=1", "-x",
        "cu",       HIP_PATH};
    memcpy(argv, arguments, sizeof arguments);
    return sizeof arguments / sizeof arguments[0];
}

static int compile(const struct device_language *language, const char *target,
                   const char *argv[DEVICE_MAX_COMPILE_ARGS], kgrade_error *err)
{
    static const char *const flags[] = {
        "-O3",
        "-std=c++17",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-cudart",
        "shared",
        "-nodlink", /* nothing is compiled to be linked on the device */
        /* Launches without a stream go to the stream that is captured. */
        "--default-stream",
        "per-thread",
        /* Libraries are loaded only when the candidate uses them. */
        "-Xlinker",
        "--as-needed",
        "-o",
        "/out/candidate.so",
    };
    static const char *const libraries[] = {"-lcublas", "-lcublasLt"};
    if (begin_command(target, argv, err))
        return -1;
    size_t n = BEGIN_ARGS;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        argv[n++] = flags[i];
    if (!strcmp(language->name, HIP_LANGUAGE))
        n += add_hip(argv + n);
    else
        argv[n++] = CUDA_PATH;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        argv[n++] = libraries[i];
    argv[n] = NULL;
    return 0;
}

/* The runtime is linked in, so that the judge has nothing to look for. */
static int compile_reference(const char *target, const char *argv[DEVICE_MAX_COMPILE_ARGS],
                             kgrade_error *err)
{
    static const char *const flags[] = {
        "-O3",     "-std=c++17", "-shared", "-Xcompiler",        "-fPIC",
        "-cudart", "static",     "-o",      "/out/candidate.so", REFERENCE_PATH};
    if (begin_command(target, argv, err))
        return -1;
    memcpy(argv + BEGIN_ARGS, flags, sizeof flags);
    argv[BEGIN_ARGS + sizeof flags / sizeof flags[0]] = NULL;
    return 0;
}

static size_t binds(enum device_step step, struct jail_bind *ret, size_t max)
{
    pthread_once(&machine_once, look_at_machine);
    size_t n = 0;
    if (machine.root[0] && n < max)
        ret[n++] = (struct jail_bind){.source = machine.root, .optional = true};
    if (step == STEP_BUILD)
        return n;
    for (size_t i = 0; i < machine.n_folders && n < max; i++)
        ret[n++] = (struct jail_bind){.source = machine.folders[i], .optional = true};
    for (size_t i = 0; step != STEP_REHEARSE && i < machine.n_nodes && n < max; i++)
        ret[n++] = (struct jail_bind){
            .source = machine.nodes[i], .writable = true, .optional = true, .device = true};
    /* What the driver asks about the machine's shape. */
    static const char *const system_folders[] = {"/sys/devices", "/sys/bus/pci"};
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0] && n < max; i++)
        ret[n++] = (struct jail_bind){.source = system_folders[i], .optional = true};
    return n;
}

static size_t environment(enum device_step step, const char **env, size_t max)
{
    pthread_once(&machine_once, look_at_machine);
    bool has_candidate = step == STEP_RECORD || step == STEP_REHEARSE;
    const char *const wanted[] = {
        step == STEP_BUILD ? NULL : machine.library_path,
        "CUDA_CACHE_DISABLE=1",
        "CUDA_DEVICE_ORDER=PCI_BUS_ID",
        /* Of a module, a framework's may have a thousand kernels, only those that are used.  In a replayer that is while a call is
         * loaded and in the replay that comes before its first sample. */
        step == STEP_JUDGE ? "CUDA_MODULE_LOADING=EAGER" : "CUDA_MODULE_LOADING=LAZY",
        /* Each queue to the device is a tenth of the time that a context takes to make and to end.  Only replays need that
         * branches of a graph can run side by side. */
        step == STEP_REPLAY ? NULL : "CUDA_DEVICE_MAX_CONNECTIONS=1",
        /* What a candidate in Python compiles from CUDA is compiled as candidates in CUDA are: launches without a stream go to
         * the one that is captured. */
        has_candidate ? "NVCC_APPEND_FLAGS=--default-stream per-thread" : NULL,
        has_candidate && machine.home[0] ? machine.home : NULL,
        has_candidate && machine.triton[0] ? machine.triton : NULL,
        /* In the candidate's own process: others would first import PyTorch, which takes longer than what they compile. */
        has_candidate ? "TORCHINDUCTOR_COMPILE_THREADS=1" : NULL,
        machine.debug[0] ? machine.debug : NULL,
        machine.visible[0] ? machine.visible : NULL,
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (wanted[i] && n < max)
            env[n++] = wanted[i];
    return n;
}

static json_t *describe_kernel(const void *image, size_t size, const char *kernel)
{
    struct cubin cubin;
    struct cubin_resources r;
    if (!cubin_parse(image, size, &cubin) || !cubin_kernel_resources(&cubin, kernel, &r))
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:I}", "registers", (json_int_t)r.registers, "shared_bytes",
                     (json_int_t)r.shared_bytes, "stack_bytes", (json_int_t)r.stack_bytes, "spills",
                     (json_int_t)r.spills);
}

static const char *const allowed_flags[] = {
    "--use_fast_math",
    "-use_fast_math",
    "-fmad=false",
    "-maxrregcount=#",
    "--maxrregcount=#",
    "-Xptxas=-dlcm=ca",
    "-Xptxas=-dlcm=cg",
    "--extra-device-vectorization",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "-std=c++20",
    "-D@",
    NULL,
};

/* Those that hipcc would take for an NVIDIA card and that HIP code has a use for. */
static const char *const allowed_hip_flags[] = {
    "--use_fast_math",
    "-use_fast_math",
    "-fmad=false",
    "-maxrregcount=#",
    "-std=c++20",
    "-D@",
    NULL,
};

static const struct device_language languages[] = {
    {"cuda", CUDA_SOURCE, "baseline.cuda.cu", allowed_flags, false},
    {HIP_LANGUAGE, HIP_SOURCE, NULL, allowed_hip_flags, false},
    {"python", "candidate.py", NULL, NULL, true},
    {NULL, NULL, NULL, NULL, false},
};

const struct device device_cuda = {
    .name = "cuda",
    .languages = languages,
    .recorder = "kgrade-record-cuda",
    .replayer = "kgrade-replay-cuda",
    .judge = "kgrade-judge-cuda",
    .rehearsal = "kgrade-python-cuda-rehearse.py",
    .shares_arena = true,
    .start_ahead = true,
    .stays_awake = true,
    .fault_is_sticky = true,
    .judge_needs_driver = true,
    .headers = "include",
    .compile = compile,
    .reference = REFERENCE_SOURCE,
    .compile_reference = compile_reference,
    .binds = binds,
    .environment = environment,
    .describe_kernel = describe_kernel,
    .memory_bytes = 0,
    .framework_bytes = FRAMEWORK_BYTES,
};
