/*
 * What the tests of the sandbox share: one sandbox, jails that run a shell script, and their output.
 *
 * That a process is dead is proved by a pipe: its writing end is given to the jail as descriptor 3,
 * so every process in it inherits it, and reading gives the end of the file only when the last has
 * died.  What must happen is waited for with PATIENCE: a busy machine is not what is tested.
 */
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
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/io.h"
#include "sandbox/sandbox.h"

#define SKIPPED 77
#define SECONDS IO_NS_PER_S
#define PATIENCE (60 * SECONDS)

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
        .limits = {.wall_ns = 100 * SECONDS,
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
    if (jail_wait(jail, io_now() + 2 * PATIENCE, &status, &err))
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
    bool closed = drain(ends[0], text, size, io_now() + 2 * PATIENCE);
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

/* Starts a jail with the death pipe as descriptor 3; its reading end goes to ret_pipe. */
static inline struct jail *spawn_with_pipe(struct job *job, int *ret_pipe)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    job->spec.fds = &ends[1];
    job->spec.n_fds = 1;
    struct jail *jail = spawn(job);
    job->spec.n_fds = 0;
    close(ends[1]);
    *ret_pipe = ends[0];
    return jail;
}

/* Waits for a byte that the jail writes when it has come so far. */
static inline void wait_for_byte(int pipe_end)
{
    struct pollfd p = {.fd = pipe_end, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&p, 1, (int)(PATIENCE / IO_NS_PER_MS)), 1);
    assert_int_equal(read(pipe_end, &byte, 1), 1);
}

/* Everything that held the death pipe must be dead already ... */
static inline void assert_all_dead(int pipe_end)
{
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
}

/* ... or die without further ado. */
static inline void assert_all_die(int pipe_end)
{
    assert_true(drain(pipe_end, NULL, 0, io_now() + PATIENCE));
    close(pipe_end);
}

/* The children of a process that have this name; returns how many. */
static inline size_t children_named(pid_t parent, const char *name, pid_t *ret, size_t room)
{
    size_t n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[300], line[300], comm[64] = "";
        int above = 0;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof line, f) &&
            sscanf(line, "%*d (%60[^)]) %*c %d", comm, &above) == 2 && above == parent &&
            !strcmp(comm, name) && n < room)
            ret[n++] = (pid_t)atoi(e->d_name);
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* Starts a second sandbox in `box`, and tells which process its spawner is: the one that was not
 * there before. */
static inline pid_t start_another(enum sandbox_level level)
{
    enum { ROOM = 16 };
    pid_t before[ROOM], after[ROOM];
    size_t n_before = children_named(getpid(), "kgrade-spawner", before, ROOM);
    box = start_sandbox(level);
    size_t n = children_named(getpid(), "kgrade-spawner", after, ROOM);
    for (size_t i = 0; i < n; i++) {
        bool old = false;
        for (size_t k = 0; k < n_before; k++)
            old = old || before[k] == after[i];
        if (!old)
            return after[i];
    }
    fail_msg("the new spawner is not to be seen");
    return 0;
}

/* The tests that are the same at both levels. */

static inline void check_exit_code_and_output(void)
{
    char text[256];
    struct job job;
    job_init(&job, "echo out; echo err >&2; exit 42");
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 42);
    assert_string_equal(text, "out\nerr\n");
    assert_true(status.wall_ns > 0);
    assert_true(status.peak_bytes > 100000);
    assert_false(status.out_of_memory);
    job_init(&job, "kill -SEGV $$");
    status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGSEGV);
}

static inline void check_fork_bomb(void)
{
    struct job job;
    int pipe_end;
    job_init(&job, "b() { b | b & }; b; while :; do b; done");
    job.spec.limits.wall_ns = SECONDS / 2;
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_true(status.end == JAIL_DEADLINE || status.end == JAIL_EXITED);
    assert_all_dead(pipe_end);
    jail_free(jail);
}

/* A daemon goes with the program that left it. */
static inline void check_daemons_die(void)
{
    struct job job;
    int pipe_end;
    job_init(&job,
             "(setsid sh -c 'trap \"\" TERM HUP INT; setsid sleep 100 & sleep 100' &); exit 5");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_exit(&status, 5);
    assert_all_dead(pipe_end);
    jail_free(jail);
}

static inline void check_deadline(void)
{
    struct job job;
    int pipe_end;
    job_init(&job, "(setsid sh -c 'trap \"\" TERM HUP; setsid sleep 100 & sleep 100' &); "
                   "while :; do :; done");
    job.spec.limits.wall_ns = SECONDS / 4;
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_int_equal(status.end, JAIL_DEADLINE);
    assert_true(status.wall_ns >= SECONDS / 4);
    assert_all_dead(pipe_end);
    jail_free(jail);
}

/* A client that dies takes its jails with it. */
static inline void check_client_death(enum sandbox_level level)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t client = fork();
    if (client == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
        struct sandbox_options options = {.spawner = spawner_path(), .level = level};
        struct job job;
        job_init(&job, "setsid sleep 100 & echo x >&3; sleep 100");
        job.spec.fds = &ends[1];
        job.spec.n_fds = 1;
        struct jail *jail;
        if (sandbox_start(&options, &box, NULL) || jail_spawn(box, &job.spec, &jail, NULL))
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    wait_for_byte(ends[0]);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    assert_all_die(ends[0]);
}

/* A spawner that dies takes its jails with it, and the client is told. */
static inline void check_spawner_death(enum sandbox_level level)
{
    struct sandbox *kept = box;
    pid_t spawner = start_another(level);
    struct job job;
    int pipe_end;
    job_init(&job, "trap '' TERM HUP; setsid sleep 100 & echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    wait_for_byte(pipe_end);
    kill(spawner, SIGKILL);
    assert_all_die(pipe_end);
    struct jail_status status;
    kgrade_error err = {0};
    assert_int_equal(jail_wait(jail, io_now() + PATIENCE, &status, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    jail_free(jail);
    /* The next jail gets a new spawner; one that is asked of a dying one may die with it. */
    siginfo_t death;
    assert_int_equal(waitid(P_PID, (id_t)spawner, &death, WEXITED | WNOWAIT), 0);
    char text[64];
    job_init(&job, "echo still here");
    status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "still here\n");
    sandbox_stop(box);
    box = kept;
}

/* The same at any moment, also while jails are being set up. */
static inline void check_spawner_death_at_any_time(enum sandbox_level level, unsigned rounds)
{
    enum { JAILS = 3 };
    struct sandbox *kept = box;
    srand(3);
    for (unsigned round = 0; round < rounds; round++) {
        pid_t spawner = start_another(level);
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        struct job job;
        job_init(&job, "setsid sleep 100 & sleep 100");
        job.spec.fds = &ends[1];
        job.spec.n_fds = 1;
        struct jail *jails[JAILS];
        for (size_t i = 0; i < JAILS; i++)
            jails[i] = spawn(&job);
        close(ends[1]);
        usleep((useconds_t)(rand() % 12000));
        kill(spawner, SIGKILL);
        assert_all_die(ends[0]);
        for (size_t i = 0; i < JAILS; i++)
            jail_free(jails[i]);
        sandbox_stop(box);
    }
    box = kept;
}

/* For main() of the tests of the full level. */
static inline bool have_full_level(void)
{
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    size_t n = sandbox_probe_all(probes, &level);
    for (size_t i = 0; i < n; i++)
        if (probes[i].required && !probes[i].works)
            print_message("skipped: no %s here: %s\n", probes[i].name, probes[i].detail);
    return level == SANDBOX_FULL;
}

static inline int start_group_at(enum sandbox_level level)
{
    box = start_sandbox(level);
    return box ? 0 : -1;
}

static inline int start_full(void **state)
{
    (void)state;
    return start_group_at(SANDBOX_FULL);
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
