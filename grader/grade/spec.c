#define _GNU_SOURCE
#include "spec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jails.h"

#define BUILD_MEMORY_BYTES (8ull << 30)
#define TMP_BYTES (1ull << 30)
#define JAIL_TOTAL_BYTES                                                                           \
    (64ull << 30)             /* of one jail, with its files in /tmp; libraries of GPUs are large */
#define JAIL_TOTAL_PERCENT 75 /* of the machine's memory, if that is less */
/* Of one process where its address space has no limit: what a GPU's driver reserves cannot be written and does not count. */
#define PROCESS_DATA_BYTES (32ull << 30)
/* Of the jail of a candidate in Python: numerical libraries make a thread for each core, frameworks write what they
 * compile. */
#define PYTHON_PROCESSES 512
#define PYTHON_OPEN_FILES 1024
#define PYTHON_FILE_BYTES (256u << 20)
#define SPEC_PYTHON_VARIABLES 2 /* that come on top */
/* Room for so many tensors of a case's size.  Every replay clears it; torch.sort takes the most, keys and indices of 64 bits
 * twice. */
#define PYTHON_TENSORS 3

/* What every jail sees of the machine: programs and libraries, nothing else.  /bin and /lib are links into /usr,
 * which the sandbox makes. */
static const struct jail_bind common_binds[] = {
    {.source = "/usr"},
    {.source = "/etc/alternatives", .optional = true},
    {.source = "/etc/ld.so.cache", .optional = true},
};

#define N_COMMON (sizeof common_binds / sizeof common_binds[0])

size_t spec_binds(const struct device *device, enum device_step step,
                  struct jail_bind binds[JAIL_MAX_BINDS])
{
    memcpy(binds, common_binds, sizeof common_binds);
    size_t n = N_COMMON;
    if (device)
        n += device->binds(step, binds + n, JAIL_MAX_BINDS - n);
    return n;
}

size_t spec_environment(const struct device *device, enum device_step step, const char **env,
                        size_t max)
{
    static const char *const common[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
                                         "TMPDIR=/tmp"};
    size_t n = sizeof common / sizeof common[0];
    memcpy(env, common, sizeof common);
    if (device)
        n += device->environment(step, env + n, max - n - 1);
    env[n] = NULL;
    return n;
}

enum device_step spec_jail(enum device_step step, const struct python *python)
{
    return step == STEP_JUDGE && python ? STEP_RECORD : step;
}

enum jail_policy spec_policy(const struct device *device, enum device_step step)
{
    switch (step) {
    case STEP_BUILD:
        return JAIL_BUILD;
    case STEP_RECORD:
    case STEP_REHEARSE:
        return JAIL_RECORD;
    case STEP_REPLAY:
        return JAIL_REPLAY;
    case STEP_JUDGE:
        break;
    }
    return device->judge_needs_driver ? JAIL_REPLAY : JAIL_JUDGE;
}

static uint64_t total_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0)
        return JAIL_TOTAL_BYTES;
    uint64_t share = (uint64_t)pages / 100 * JAIL_TOTAL_PERCENT * (uint64_t)size;
    return share < JAIL_TOTAL_BYTES ? share : JAIL_TOTAL_BYTES;
}

static uint64_t data_bytes(enum device_step step, uint64_t total)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)step, (void)total;
    return 0; /* a sanitizer's shadow memory takes terabytes */
#else
    /* A judge has whole cases in memory, in double precision, and runs no candidate; at most a foreign task's Python. */
    return step == STEP_JUDGE || total < PROCESS_DATA_BYTES ? total : PROCESS_DATA_BYTES;
#endif
}

/* Half of the machine: a build that takes all of it would disturb what is being timed. */
static uint64_t build_cpu_percent(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 2 ? 50 * (uint64_t)cpus : 100;
}

struct jail_limits spec_limits(const struct device *device, enum device_step step,
                               const struct python *python, uint64_t wall_ns)
{
    struct jail_limits limits = {.wall_ns = wall_ns,
                                 .cpu_seconds = 0,
                                 .memory_bytes = device ? device->memory_bytes : 0,
                                 .memory_total_bytes = total_bytes(),
                                 .file_bytes = JAILS_MAX_OUTPUT_BYTES,
                                 .tmp_bytes = TMP_BYTES,
                                 .processes = 64,
                                 .open_files = 256};
    if (step == STEP_BUILD) {
        limits.memory_bytes = BUILD_MEMORY_BYTES;
        if (limits.memory_total_bytes > BUILD_MEMORY_BYTES)
            limits.memory_total_bytes = BUILD_MEMORY_BYTES;
        limits.cpu_percent = build_cpu_percent();
        limits.file_bytes = SPEC_BUILD_PRODUCT_BYTES;
        limits.processes = 128;
    } else if (step == STEP_REPLAY) {
        limits.file_bytes = TASK_MAX_CASE_BYTES; /* the arena is a file, too */
    } else if (step == STEP_JUDGE) {
        limits.memory_bytes = 0;
    }
    if (!limits.memory_bytes)
        limits.data_bytes = data_bytes(step, limits.memory_total_bytes);
    if (step == STEP_REHEARSE) /* beside whatever is being timed, as builds are */
        limits.cpu_percent = build_cpu_percent();
    if (python) {
        limits.processes = PYTHON_PROCESSES;
        limits.open_files = PYTHON_OPEN_FILES;
        limits.file_bytes = PYTHON_FILE_BYTES;
    }
    return limits;
}

const struct bytes *spec_python_baseline(const struct device *device, const struct task *task)
{
    char name[128];
    snprintf(name, sizeof name, "baseline.%s.py", device->name);
    const struct bytes *text = task_file(task, name);
    return text && !task_file(task, device->languages[0].baseline) ? text : NULL;
}

uint64_t spec_workspace(const struct device *device, const struct task *task, bool python)
{
    uint64_t largest = 0;
    bool has_frameworks = python || task->python || spec_python_baseline(device, task);
    if (!has_frameworks || !device->framework_bytes ||
        task_largest(task, task->cases, task->n_cases, &largest, NULL))
        return task->workspace_bytes;
    uint64_t bytes = task->workspace_bytes + device->framework_bytes + PYTHON_TENSORS * largest;
    return bytes < TASK_MAX_CASE_BYTES ? bytes : TASK_MAX_CASE_BYTES;
}

static void write_command(const kgrade *engine, const char *name, struct spec_command *ret)
{
    engine_program(engine, name, ret->program);
    ret->argv[0] = ret->program;
    ret->argv[1] = NULL;
}

static void write_python_command(const kgrade *engine, const struct device *device,
                                 enum device_step step, const struct python *python,
                                 struct spec_command *ret)
{
    char name[128];
    bool judges = step == STEP_JUDGE;
    snprintf(name, sizeof name, "%s-python.so", judges ? device->judge : device->recorder);
    engine_program(engine, name, ret->program);
    engine_program(engine, judges ? "kgrade-python-problem.py" : "kgrade-python-boot.py",
                   ret->boot);
    snprintf(name, sizeof name, "kgrade-python-%s.py", device->name);
    engine_program(engine, judges ? "kgrade-python-describing.py" : name, ret->module);
    snprintf(ret->preload, sizeof ret->preload, "LD_PRELOAD=%s", ret->program);
    /* Tools that frameworks start lie beside the interpreter. */
    snprintf(ret->path, sizeof ret->path, "PATH=%.*s:/usr/bin:/bin",
             (int)(strrchr(python->path, '/') - python->path), python->path);
    const char *const argv[] = {
        python->path, "-I",         "-B",        "-u",
        ret->boot,    ret->program, ret->module, judges ? device->name : NULL,
        NULL};
    memcpy(ret->argv, argv, sizeof argv);
}

/* The recorder's files: boot.py calls the candidate, the device's module knows its types. */
static void write_rehearsal_command(const kgrade *engine, const struct device *device,
                                    const struct python *python, struct spec_command *ret)
{
    write_python_command(engine, device, STEP_RECORD, python, ret);
    ret->preload[0] = '\0';
    engine_program(engine, device->rehearsal, ret->program);
    const char *const argv[] = {python->path, "-I", "-B", "-u", ret->program, ret->boot, NULL};
    memcpy(ret->argv, argv, sizeof argv);
}

size_t spec_command_binds(const struct spec_command *command, const struct python *python,
                          struct jail_bind *binds, size_t max)
{
    size_t n = python ? python_binds(python, binds, max) : 0;
    const char *const files[] = {command->program, command->boot, command->module};
    for (size_t i = 0; i < sizeof files / sizeof files[0] && n < max; i++)
        if (files[i][0])
            binds[n++] = (struct jail_bind){.source = files[i]};
    return n;
}

static size_t add_python_variables(const struct spec_command *command, const char **env, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(env[i], "PATH=", 5))
            env[i] = command->path;
    env[n] = "USER=candidate"; /* no jail has a list of users to look it up in */
    if (command->preload[0])
        env[n + 1] = command->preload;
    return command->preload[0] ? SPEC_PYTHON_VARIABLES : SPEC_PYTHON_VARIABLES - 1;
}

void spec_command(const kgrade *engine, const struct device *device, enum device_step step,
                  const struct python *python, struct spec_command *ret)
{
    const char *name = step == STEP_RECORD   ? device->recorder
                       : step == STEP_REPLAY ? device->replayer
                                             : device->judge;
    *ret = (struct spec_command){.boot = ""};
    if (step == STEP_REHEARSE)
        write_rehearsal_command(engine, device, python, ret);
    else if (python)
        write_python_command(engine, device, step, python, ret);
    else
        write_command(engine, name, ret);
}

void spec_command_environment(const struct spec_command *command, const struct device *device,
                              enum device_step step, const char *env[SPEC_MAX_VARIABLES])
{
    size_t n = spec_environment(device, step, env, SPEC_MAX_VARIABLES - SPEC_PYTHON_VARIABLES);
    if (command->path[0])
        n += add_python_variables(command, env, n);
    env[n] = NULL;
}
