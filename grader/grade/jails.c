#define _GNU_SOURCE
#include "jails.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "spec.h"

#define ASK_EVERY_NS (100 * IO_NS_PER_MS)
#define DEATH_WAIT_NS (10 * IO_NS_PER_S)

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

int jails_output_file(kgrade_error *err)
{
    cleanup_close int output = memfd_create("kgrade-output", MFD_CLOEXEC);
    if (output < 0 || fcntl(output, F_SETFL, O_APPEND))
        return fail_errno(err, "memory_file_failed", NULL, "A memory file could not be made");
    return steal_fd(&output);
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

uint64_t jails_next_question(uint64_t deadline)
{
    uint64_t next = io_now() + ASK_EVERY_NS;
    return next < deadline ? next : deadline;
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
    strip(text, DEVICE_HEADERS "/");
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
        if (jail_wait(jail, jails_next_question(deadline), ret, &why) == 0)
            return 0;
        if (strcmp(why.code, "io_timeout") || io_now() >= deadline) {
            *err = why;
            return -1;
        }
        if (!jails_go_on())
            return fail(err, "cancelled", NULL, "The grade was cancelled.");
    }
}

/* Runs a tool in a build jail; *tool says what, with which binds, and where its words go. */
static int run_to_end(kgrade *engine, const struct device *device, const struct jail_spec *tool,
                      uint64_t wall_ns, struct jail_status *ret, kgrade_error *err)
{
    const char *env[SPEC_MAX_VARIABLES];
    struct jail_spec spec = *tool;
    cleanup_jail struct jail *jail = NULL;
    spec_environment(device, STEP_BUILD, env, SPEC_MAX_VARIABLES);
    spec.policy = JAIL_BUILD;
    spec.env = env;
    spec.workdir = "/tmp";
    spec.stdin_fd = -1;
    spec.limits = spec_limits(NULL, STEP_BUILD, NULL, wall_ns);
    if (jail_spawn(engine->sandbox, &spec, &jail, err) ||
        wait_for_end(jail, io_now() + wall_ns + DEATH_WAIT_NS, ret, err))
        return -1;
    if (ret->end != JAIL_NOT_STARTED)
        return 0;
    *err = ret->error;
    return -1;
}

int jails_run(kgrade *engine, const char *const *argv, const struct python *python,
              uint64_t wall_ns, char **ret, kgrade_error *err)
{
    struct jail_bind binds[JAIL_MAX_BINDS];
    size_t n = spec_binds(NULL, STEP_BUILD, binds);
    if (python)
        n += python_binds(python, binds + n, JAIL_MAX_BINDS - n);
    cleanup_close int output = jails_output_file(err);
    if (output < 0)
        return -1;
    struct jail_status status;
    const struct jail_spec spec = {
        .argv = argv, .binds = binds, .n_binds = n, .stdout_fd = output, .stderr_fd = -1};
    if (run_to_end(engine, NULL, &spec, wall_ns, &status, err))
        return -1;
    if (status.end != JAIL_EXITED || status.code != 0)
        return fail(err, "program_failed", NULL, "%s ended with %s %d.", argv[0],
                    status.end == JAIL_EXITED ? "status" : "signal", status.code);
    *ret = jails_log(output);
    return *ret ? 0 : fail(err, "program_failed", NULL, "%s said nothing.", argv[0]);
}

static bool wants_headers(const struct build_input *input)
{
    bool wants = false;
    for (size_t i = 0; input->argv[i] && input->device && input->device->headers; i++)
        wants = wants || !strcmp(input->argv[i], DEVICE_HEADERS);
    return wants;
}

/* The real folder, for in a build folder it is a link. */
static char *headers_folder(const kgrade *engine, const char *name, kgrade_error *err)
{
    char path[ENGINE_MAX_PATH + 64], *real;
    snprintf(path, sizeof path, "%.3000s/share/kgrade/%.60s", engine->prefix, name);
    real = realpath(path, NULL);
    if (!real)
        fail_errno(err, "headers_missing", "Install kgrade anew: cmake --install BUILD.",
                   "The headers for candidates are not where they should be, in %s", path);
    return real;
}

static int run_compiler(kgrade *engine, const struct build_input *input, const char *folder,
                        uint64_t wall_ns, struct jail_status *ret_status, char **ret_log,
                        kgrade_error *err)
{
    cleanup_free char *src = NULL, *out = NULL, *headers = NULL;
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
    size_t n = spec_binds(input->device, STEP_BUILD, binds);
    if (n + 3 > JAIL_MAX_BINDS)
        return fail(err, "too_many_binds", NULL, "The build jail would need more than %d binds.",
                    JAIL_MAX_BINDS);
    binds[n++] = (struct jail_bind){.source = src, .target = "/src"};
    binds[n++] = (struct jail_bind){.source = out, .target = "/out", .writable = true};
    if (wants_headers(input)) {
        headers = headers_folder(engine, input->device->headers, err);
        if (!headers)
            return -1;
        binds[n++] = (struct jail_bind){.source = headers, .target = DEVICE_HEADERS};
    }
    cleanup_close int output = jails_output_file(err);
    if (output < 0)
        return -1;
    const struct jail_spec spec = {.argv = input->argv,
                                   .binds = binds,
                                   .n_binds = n,
                                   .stdout_fd = output,
                                   .stderr_fd = output};
    if (run_to_end(engine, input->device, &spec, wall_ns, ret_status, err))
        return -1;
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
    return io_read_file(product, SPEC_BUILD_PRODUCT_BYTES, ret, err);
}
