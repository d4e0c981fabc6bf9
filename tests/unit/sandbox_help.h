/* What the tests of the sandbox share: one sandbox, jails that run a shell script, and their
 * output. */
#ifndef SANDBOX_HELP_H
#define SANDBOX_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "sandbox/base/io.h"
#include "sandbox/sandbox.h"

#define SKIPPED 77
#define SECONDS IO_NS_PER_S

static struct sandbox *box;

static inline const char *spawner_path(void)
{
    static char path[4096];
    const char *folder = getenv("KGRADE_LIBEXEC");
    snprintf(path, sizeof path, "%s/kgrade-spawner",
             folder ? folder : KGRADE_BUILD_DIR "/libexec/kgrade");
    return path;
}

static inline struct sandbox *start_sandbox(enum sandbox_level level)
{
    struct sandbox_options options = {.spawner = spawner_path(), .level = level};
    struct sandbox *s = NULL;
    kgrade_error err = {0};
    if (sandbox_start(&options, &s, &err))
        fail_msg("%s: %s %s", err.code, err.message, err.hint);
    return s;
}

/* What a shell and dynamically linked programs need. */
static const struct jail_bind toolbox[] = {
    {.source = "/usr"},
    {.source = "/bin"},
    {.source = "/lib"},
    {.source = "/lib64", .optional = true},
    {.source = "/etc/ld.so.cache", .optional = true},
};
#define N_TOOLBOX (sizeof toolbox / sizeof *toolbox)

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "HOME=/tmp",
                                        "ASAN_OPTIONS=detect_leaks=0", NULL};

/* A jail that is going to run `sh -c script`; everything in it may be changed before it runs. */
struct job {
    struct jail_spec spec;
    const char *argv[8];
    struct jail_bind binds[JAIL_MAX_BINDS];
};

static inline void job_init(struct job *job, const char *script)
{
    memset(job, 0, sizeof *job);
    memcpy(job->binds, toolbox, sizeof toolbox);
    job->argv[0] = "/bin/sh";
    job->argv[1] = "-c";
    job->argv[2] = script;
    job->spec = (struct jail_spec){
        .policy = JAIL_RECORD,
        .argv = job->argv,
        .env = plain_env,
        .workdir = "/tmp",
        .binds = job->binds,
        .n_binds = N_TOOLBOX,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = -1,
        .limits = {.wall_ns = 20 * SECONDS,
                   .file_bytes = 1ull << 30,
                   .tmp_bytes = 8ull << 20,
                   .processes = 64,
                   .open_files = 256},
    };
}

static inline void job_bind(struct job *job, const char *source, const char *target, bool writable)
{
    job->binds[job->spec.n_binds++] =
        (struct jail_bind){.source = source, .target = target, .writable = writable};
}

/* The job runs this program instead, as `probe NAME ARGUMENT`. */
static inline void job_probe(struct job *job, const char *name, const char *argument)
{
    static char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    job_bind(job, self, "/probe", false);
    job->argv[0] = "/probe";
    job->argv[1] = name;
    job->argv[2] = argument;
}

static inline struct jail *spawn(struct job *job)
{
    struct jail *jail = NULL;
    kgrade_error err = {0};
    if (jail_spawn(box, &job->spec, &jail, &err))
        fail_msg("%s: %s", err.code, err.message);
    return jail;
}

static inline struct jail_status wait_for(struct jail *jail)
{
    struct jail_status status;
    kgrade_error err = {0};
    if (jail_wait(jail, io_now() + 30 * SECONDS, &status, &err))
        fail_msg("%s: %s", err.code, err.message);
    return status;
}

/* Reads until everybody has closed the pipe, or the deadline; true if all have. */
static inline bool drain(int fd, char *text, size_t size, uint64_t deadline)
{
    size_t used = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, io_poll_timeout(deadline)) <= 0)
            return false;
        char rest[4096];
        bool room = used + 1 < size;
        ssize_t n = read(fd, room ? text + used : rest, room ? size - 1 - used : sizeof rest);
        if (n <= 0)
            return true;
        used += room ? (size_t)n : 0;
        if (size)
            text[used] = 0;
    }
}

/* Runs the job with standard output and error caught in text. */
static inline struct jail_status run_job(struct job *job, char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (size)
        text[0] = 0;
    job->spec.stdout_fd = ends[1];
    job->spec.stderr_fd = ends[1];
    struct jail *jail = spawn(job);
    close(ends[1]);
    bool closed = drain(ends[0], text, size, io_now() + 30 * SECONDS);
    struct jail_status status = wait_for(jail);
    jail_free(jail);
    close(ends[0]);
    assert_true(closed);
    if (status.end == JAIL_NOT_STARTED)
        print_message("not started: %s: %s\n", status.error.code, status.error.message);
    return status;
}

static inline void assert_exit(const struct jail_status *status, int code)
{
    assert_int_equal(status->end, JAIL_EXITED);
    assert_int_equal(status->code, code);
}

/* Runs a script that must end with 0; returns what it printed. */
static inline const char *run_script(const char *script)
{
    static char text[16384];
    struct job job;
    job_init(&job, script);
    struct jail_status status = run_job(&job, text, sizeof text);
    if (status.end != JAIL_EXITED || status.code != 0)
        fail_msg("end %d, code %d, output: %s", (int)status.end, status.code, text);
    return text;
}

static inline int start_group_at(enum sandbox_level level)
{
    box = start_sandbox(level);
    return box ? 0 : -1;
}

static inline int stop_group(void **state)
{
    (void)state;
    sandbox_stop(box);
    box = NULL;
    return 0;
}

/* Counting what might be left behind. */

static inline size_t count_lines(const char *path)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;
    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static inline size_t count_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
