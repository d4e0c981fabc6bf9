#define _GNU_SOURCE
#include "jails.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define BUILD_MAX_PRODUCT_BYTES (256u << 20)
#define BUILD_MEMORY_BYTES (8ull << 30)
#define TMP_BYTES (1ull << 30)
#define JAIL_TOTAL_BYTES                                                                           \
    (64ull << 30)             /* of one jail, with its files in /tmp; libraries of GPUs are large */
#define JAIL_TOTAL_PERCENT 75 /* of the machine's memory, if that is less */
#define LOADER_FAILED 127     /* what the dynamic loader exits with when a library is missing */
#define ASK_EVERY_NS (100 * IO_NS_PER_MS)
#define DEATH_WAIT_NS (10 * IO_NS_PER_S)
#define HANG_UP_WAIT_NS                                                                            \
    (2 * IO_NS_PER_S) /* from the end of a connection to the end of its process */

/* What every jail sees of the machine: programs and libraries, nothing else.  /bin and /lib are links into /usr,
 * which the sandbox makes. */
static const struct jail_bind common_binds[] = {
    {.source = "/usr"},
    {.source = "/etc/alternatives", .optional = true},
    {.source = "/etc/ld.so.cache", .optional = true},
};

#define N_COMMON (sizeof common_binds / sizeof common_binds[0])

static size_t gather_binds(const struct device *device, enum device_step step,
                           struct jail_bind binds[JAIL_MAX_BINDS])
{
    memcpy(binds, common_binds, sizeof common_binds);
    size_t n = N_COMMON;
    if (device)
        n += device->binds(step, binds + n, JAIL_MAX_BINDS - n);
    return n;
}

static size_t gather_environment(const struct device *device, enum device_step step,
                                 const char **env, size_t max)
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

static enum jail_policy policy_of(const struct device *device, enum device_step step)
{
    switch (step) {
    case STEP_BUILD:
        return JAIL_BUILD;
    case STEP_RECORD:
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

/* Half of the machine: a build that takes all of it would disturb what is being timed. */
static uint64_t build_cpu_percent(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 2 ? 50 * (uint64_t)cpus : 100;
}

static struct jail_limits limits_of(const struct device *device, enum device_step step,
                                    uint64_t wall_ns)
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
        limits.file_bytes = BUILD_MAX_PRODUCT_BYTES;
        limits.processes = 128;
    } else if (step == STEP_REPLAY) {
        limits.file_bytes = TASK_MAX_CASE_BYTES; /* the arena is a file, too */
    } else if (step == STEP_JUDGE) {
        limits.memory_bytes = 0;
    }
    return limits;
}

int jails_memory_file(const char *name, const void *data, size_t size, kgrade_error *err)
{
    cleanup_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fail_errno(err, "memory_file_failed", NULL, "A memory file could not be made");
    size_t done = 0;
    while (done < size) {
        ssize_t k = write(fd, (const char *)data + done, size - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_errno(err, "memory_file_failed", NULL,
                              "A memory file could not be written");
        done += (size_t)k;
    }
    if (size && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
        return fail_errno(err, "memory_file_failed", NULL, "A memory file could not be sealed");
    return steal_fd(&fd);
}

int worker_start(kgrade *engine, const struct device *device, enum device_step step,
                 uint64_t wall_ns, struct worker *ret, kgrade_error *err)
{
    const char *name = step == STEP_RECORD   ? device->recorder
                       : step == STEP_REPLAY ? device->replayer
                                             : device->judge;
    char program[ENGINE_MAX_PATH];
    engine_program(engine, name, program);
    struct jail_bind binds[JAIL_MAX_BINDS];
    size_t n = gather_binds(device, step, binds);
    if (n == JAIL_MAX_BINDS)
        return fail(err, "too_many_binds", NULL, "The jail of %s would need more than %d binds.",
                    name, JAIL_MAX_BINDS);
    binds[n++] = (struct jail_bind){.source = program};
    const char *env[32], *argv[] = {program, NULL};
    gather_environment(device, step, env, sizeof env / sizeof env[0]);

    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return fail_errno(err, "io_failed", NULL, "A socket pair could not be made");
    cleanup_close int ours = pair[0], theirs = pair[1];
    cleanup_close int output = memfd_create("kgrade-output", MFD_CLOEXEC);
    if (output < 0 || fcntl(output, F_SETFL, O_APPEND))
        return fail_errno(err, "memory_file_failed", NULL, "A memory file could not be made");
    const struct jail_spec spec = {.policy = policy_of(device, step),
                                   .argv = argv,
                                   .env = env,
                                   .workdir = "/tmp",
                                   .binds = binds,
                                   .n_binds = n,
                                   .stdin_fd = -1,
                                   .stdout_fd = output,
                                   .stderr_fd = output,
                                   .fds = &theirs,
                                   .n_fds = 1,
                                   .limits = limits_of(device, step, wall_ns)};
    if (jail_spawn(engine->sandbox, &spec, &ret->jail, err))
        return -1;
    ret->socket = steal_fd(&ours);
    ret->output = steal_fd(&output);
    return 0;
}

void worker_end(struct worker *worker)
{
    jail_free(worker->jail);
    worker->jail = NULL;
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->output >= 0)
        close(worker->output);
    worker->socket = worker->output = -1;
}

void worker_bury(struct worker *worker, struct graves *graves)
{
    static const struct worker none = WORKER_NONE;
    if (!worker->jail)
        return worker_end(worker);
    jail_kill(worker->jail);
    if (graves->n == GRAVES_MAX)
        graves_wait(graves);
    graves->workers[graves->n++] = *worker;
    *worker = none;
}

void graves_wait(struct graves *graves)
{
    for (size_t i = 0; i < graves->n; i++)
        worker_end(&graves->workers[i]);
    graves->n = 0;
}

void worker_outcome_free(struct worker_outcome *outcome)
{
    wire_message_free(&outcome->message);
}

static _Thread_local struct {
    bool (*go_on)(void *data);
    void *data;
} asked;

void jails_ask_while_waiting(bool (*go_on)(void *data), void *data)
{
    asked.go_on = go_on;
    asked.data = data;
}

bool jails_go_on(void)
{
    return !asked.go_on || asked.go_on(asked.data);
}

static uint64_t next_question(uint64_t deadline)
{
    uint64_t next = io_now() + ASK_EVERY_NS;
    return next < deadline ? next : deadline;
}

/* Whether something can be read before the deadline; false also when the wait was cancelled. */
static bool wait_for_answer(const struct worker *worker, uint64_t deadline, bool *ret_cancelled)
{
    for (;;) {
        struct pollfd p = {.fd = worker->socket, .events = POLLIN};
        if (poll(&p, 1, io_poll_timeout(next_question(deadline))) > 0)
            return true;
        *ret_cancelled = !jails_go_on();
        if (*ret_cancelled || io_now() >= deadline)
            return false;
    }
}

/* Whether a worker that has hung up ends by itself; one that lives on is up to something. */
static bool is_gone(const struct worker *worker)
{
    struct pollfd p = {.fd = jail_poll_fd(worker->jail), .events = POLLIN};
    return poll(&p, 1, io_poll_timeout(io_now() + HANG_UP_WAIT_NS)) > 0;
}

/* The worker is gone or must go: learns how it ended. */
static void settle(struct worker *worker, struct worker_outcome *ret)
{
    kgrade_error err = {.code = ""};
    if (jail_wait(worker->jail, io_now() + DEATH_WAIT_NS, &ret->status, &err)) {
        ret->status.end = JAIL_NOT_STARTED;
        ret->status.error = err;
    }
}

void worker_request(struct worker *worker, json_t *request, const void *blob, size_t blob_size,
                    int fd, uint64_t deadline, struct worker_outcome *ret)
{
    kgrade_error err = {.code = ""};
    *ret = (struct worker_outcome){.message = {.fd = -1}};
    bool cancelled = false;
    int failed = wire_send(worker->socket, request, blob, blob_size, fd, deadline, &err);
    while (!failed) {
        wire_message_free(&ret->message);
        /* Past the deadline, receiving says so itself. */
        wait_for_answer(worker, deadline, &cancelled);
        if (cancelled)
            break;
        failed = wire_receive(worker->socket, &ret->message, deadline, &err);
        if (failed)
            break;
        const char *stage = json_string_value(json_object_get(ret->message.json, "stage"));
        if (stage) {
            snprintf(ret->stage, sizeof ret->stage, "%.31s", stage);
            continue;
        }
        json_t *ok = json_object_get(ret->message.json, "ok");
        if (json_is_boolean(ok)) {
            ret->answer = json_is_true(ok) ? WORKER_ANSWERED : WORKER_REFUSED;
            return;
        }
        failed = fail(&err, "wire_invalid", NULL, "An answer has no \"ok\".");
    }
    if (cancelled)
        ret->answer = WORKER_CANCELLED;
    else if (failed < 0 && !strcmp(err.code, "io_timeout"))
        ret->answer = WORKER_LATE;
    else if (failed < 0 &&
             (!strcmp(err.code, "wire_invalid") || !strcmp(err.code, "out_of_memory")))
        ret->answer = WORKER_GARBLED;
    else
        ret->answer = WORKER_DIED;
    if (ret->answer == WORKER_DIED && !is_gone(worker))
        ret->answer = WORKER_GARBLED;
    if (ret->answer != WORKER_DIED)
        jail_kill(worker->jail);
    settle(worker, ret);
    if (ret->answer == WORKER_DIED && ret->status.end == JAIL_DEADLINE)
        ret->answer = WORKER_LATE;
}

int worker_fault(const struct worker_outcome *o, const char *who, struct finding *finding)
{
    const json_t *json = o->message.json;
    const char *code = json_string_value(json_object_get(json, "code"));
    switch (o->answer) {
    case WORKER_REFUSED:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, code ? code : "worker_failed",
                           json_string_value(json_object_get(json, "hint")), "%s",
                           json_string_value(json_object_get(json, "message")));
    case WORKER_LATE:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_timeout",
                           "Try again; raise the timeout if it stays.",
                           "The %s did not answer in time.", who);
    case WORKER_DIED:
        if (o->status.end == JAIL_NOT_STARTED)
            return finding_infrastructure(finding, &o->status.error);
        if (o->status.end == JAIL_EXITED && o->status.code == LOADER_FAILED)
            return finding_set(
                finding, KGRADE_INFRASTRUCTURE_ERROR, "device_unavailable",
                "Install the device's driver; `kgrade doctor` shows what is missing.",
                "The device's %s cannot start here: its libraries are missing.", who);
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_died",
                           "Run `kgrade doctor`.", "The %s ended unexpectedly (%s %d).", who,
                           o->status.end == JAIL_SIGNALLED ? "signal" : "status", o->status.code);
    case WORKER_CANCELLED:
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL,
                           "The grade was cancelled.");
    case WORKER_ANSWERED:
    case WORKER_GARBLED:
        break;
    }
    return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "worker_garbled",
                       "Run `kgrade doctor`.", "The %s sent something that is not a message.", who);
}

/* Keeps what is valid UTF-8 and printable; anything else becomes '?'. */
static void make_printable(char *text, size_t *size)
{
    size_t to = 0;
    for (size_t i = 0; i < *size;) {
        unsigned char c = (unsigned char)text[i];
        size_t length = c < 0x80                ? 1
                        : c >= 0xc2 && c < 0xe0 ? 2
                        : c >= 0xe0 && c < 0xf0 ? 3
                        : c >= 0xf0 && c < 0xf5 ? 4
                                                : 0;
        json_t *valid = length > 1 && i + length <= *size ? json_stringn(text + i, length) : NULL;
        if (length == 1 && (c >= 0x20 || c == '\n' || c == '\t'))
            text[to++] = (char)c;
        else if (valid)
            for (size_t k = 0; k < length; k++)
                text[to++] = text[i + k];
        else
            text[to++] = '?';
        i += length == 1 || valid ? length : 1;
        json_decref(valid);
    }
    *size = to;
}

static void strip(char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    for (char *at = text; (at = strstr(at, prefix));)
        memmove(at, at + n, strlen(at + n) + 1);
}

/* "/src/candidate.c:3: error" -> "candidate.c:3: error" */
static void strip_paths(char *text)
{
    strip(text, "/src/");
    strip(text, "/out/");
}

char *jails_log(int output_fd)
{
    static const char cut[] = "\n[... cut ...]\n";
    struct stat st;
    if (output_fd < 0 || fstat(output_fd, &st) || st.st_size <= 0)
        return NULL;
    size_t size = (size_t)st.st_size, half = JAILS_MAX_LOG_BYTES / 2;
    char *text = malloc(JAILS_MAX_LOG_BYTES + sizeof cut);
    if (!text)
        return NULL;
    ssize_t head = pread(output_fd, text, size > JAILS_MAX_LOG_BYTES ? half : size, 0), tail = 0;
    size_t used = head > 0 ? (size_t)head : 0;
    if (size > JAILS_MAX_LOG_BYTES) {
        memcpy(text + used, cut, sizeof cut - 1);
        used += sizeof cut - 1;
        tail = pread(output_fd, text + used, half, st.st_size - (off_t)half);
        used += tail > 0 ? (size_t)tail : 0;
    }
    make_printable(text, &used);
    text[used] = 0;
    strip_paths(text);
    return text;
}

char *worker_log(const struct worker *worker)
{
    return jails_log(worker->output);
}

static int write_file(const char *folder, const struct bundle_file *file, kgrade_error *err)
{
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/src/%s", folder, file->name) < 0) {
        path = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a path.");
    }
    return io_write_file(path, file->text, file->size, err);
}

static int wait_for_end(struct jail *jail, uint64_t deadline, struct jail_status *ret,
                        kgrade_error *err)
{
    for (;;) {
        kgrade_error why = {.code = ""};
        if (jail_wait(jail, next_question(deadline), ret, &why) == 0)
            return 0;
        if (strcmp(why.code, "io_timeout") || io_now() >= deadline) {
            *err = why;
            return -1;
        }
        if (!jails_go_on())
            return fail(err, "cancelled", NULL, "The grade was cancelled.");
    }
}

static int run_compiler(kgrade *engine, const struct build_input *input, const char *folder,
                        uint64_t wall_ns, struct jail_status *ret_status, char **ret_log,
                        kgrade_error *err)
{
    cleanup_free char *src = NULL, *out = NULL;
    if (asprintf(&src, "%s/src", folder) < 0)
        src = NULL;
    if (asprintf(&out, "%s/out", folder) < 0)
        out = NULL;
    if (!src || !out)
        return fail(err, "out_of_memory", NULL, "No memory for a path.");
    /* 0777: the jail runs as another user; the folder above cannot be listed. */
    if (mkdir(src, 0755) || mkdir(out, 0777) || chmod(out, 0777) || chmod(src, 0755))
        return fail_errno(err, "file_unwritable", NULL, "The build folder could not be made");
    for (size_t i = 0; i < input->n_files; i++)
        if (write_file(folder, &input->files[i], err))
            return -1;
    struct jail_bind binds[JAIL_MAX_BINDS];
    size_t n = gather_binds(input->device, STEP_BUILD, binds);
    if (n + 2 > JAIL_MAX_BINDS)
        return fail(err, "too_many_binds", NULL, "The build jail would need more than %d binds.",
                    JAIL_MAX_BINDS);
    binds[n++] = (struct jail_bind){.source = src, .target = "/src"};
    binds[n++] = (struct jail_bind){.source = out, .target = "/out", .writable = true};
    const char *env[32];
    gather_environment(input->device, STEP_BUILD, env, sizeof env / sizeof env[0]);
    cleanup_close int output = memfd_create("kgrade-output", MFD_CLOEXEC);
    if (output < 0 || fcntl(output, F_SETFL, O_APPEND))
        return fail_errno(err, "memory_file_failed", NULL, "A memory file could not be made");
    const struct jail_spec spec = {.policy = JAIL_BUILD,
                                   .argv = input->argv,
                                   .env = env,
                                   .workdir = "/tmp",
                                   .binds = binds,
                                   .n_binds = n,
                                   .stdin_fd = -1,
                                   .stdout_fd = output,
                                   .stderr_fd = output,
                                   .limits = limits_of(NULL, STEP_BUILD, wall_ns)};
    cleanup_jail struct jail *jail = NULL;
    if (jail_spawn(engine->sandbox, &spec, &jail, err) ||
        wait_for_end(jail, io_now() + wall_ns + DEATH_WAIT_NS, ret_status, err))
        return -1;
    if (ret_status->end == JAIL_NOT_STARTED) {
        *err = ret_status->error;
        return -1;
    }
    *ret_log = jails_log(output);
    if (*ret_log) /* without a private root, the folder is known by its own name */
        strip(*ret_log, folder);
    return ret_status->end == JAIL_EXITED && ret_status->code == 0 ? 0 : 1;
}

static void remove_folder(char **folder)
{
    if (*folder)
        io_remove_tree(*folder, NULL);
    free(*folder);
}

int jails_build(kgrade *engine, const struct build_input *input, uint64_t wall_ns,
                struct bytes *ret, struct jail_status *ret_status, char **ret_log,
                kgrade_error *err)
{
    __attribute__((cleanup(remove_folder))) char *folder = NULL;
    if (asprintf(&folder, "%s/build.XXXXXX", engine->scratch_folder) < 0) {
        folder = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a path.");
    }
    if (!mkdtemp(folder)) {
        free(steal_pointer(&folder));
        return fail_errno(err, "file_unwritable", NULL, "A build folder could not be made");
    }
    /* Jails at the reduced level pass through it as another user; nobody can list it. */
    if (chmod(folder, 0711))
        return fail_errno(err, "file_unwritable", NULL,
                          "A build folder could not be opened to its jail");
    int result = run_compiler(engine, input, folder, wall_ns, ret_status, ret_log, err);
    if (result)
        return result;
    cleanup_free char *product = NULL;
    if (asprintf(&product, "%s/out/candidate.so", folder) < 0) {
        product = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a path.");
    }
    /* The compiler ran on hostile input: what it left must be a plain file. */
    struct stat st;
    if (lstat(product, &st) || !S_ISREG(st.st_mode))
        return 1;
    return io_read_file(product, BUILD_MAX_PRODUCT_BYTES, ret, err);
}
