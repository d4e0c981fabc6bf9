/*
 * Jails at the full level: what is in them, what is not, how they end, and that nothing is left.
 *
 * That a process is dead is proved by a pipe: its writing end is given to the jail as descriptor 3,
 * so every process in it inherits it, and reading gives the end of the file only when the last has
 * died.
 */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "sandbox/protocol.h"

/* The inside: this program is also what runs in some jails. */

static int inside_now(void)
{
    uint64_t now = io_now();
    return write(1, &now, sizeof now) == sizeof now ? 0 : 1;
}

/* Forks children that wait until it fails; prints how many there were. */
static int inside_forks(void)
{
    int n = 0;
    for (pid_t pid; n < 100000 && (pid = fork()) >= 0; n++)
        if (pid == 0)
            for (;;)
                pause();
    printf("%d\n", n);
    return 0;
}

static int inside_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    return 0;
}

static int inside_memory(void)
{
    printf("%s\n", malloc(3ull << 30) ? "got it" : "refused");
    return 0;
}

static int inside(const char *what)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } table[] = {{"now", inside_now},
                 {"forks", inside_forks},
                 {"descriptors", inside_descriptors},
                 {"memory", inside_memory}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, what))
            return table[i].run();
    return 99;
}

/* The outside */

static int start_group(void **state)
{
    (void)state;
    return start_group_at(SANDBOX_FULL);
}

static void test_exit_code_and_output(void **state)
{
    (void)state;
    char text[256];
    struct job job;
    job_init(&job, "echo out; echo err >&2; exit 42");
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 42);
    assert_string_equal(text, "out\nerr\n");
    assert_true(status.wall_ns > 0 && status.wall_ns < 20 * SECONDS);
    assert_true(status.peak_bytes > 100000);
}

static void test_standard_input(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    close(ends[1]);
    char text[64];
    struct job job;
    job_init(&job, "cat");
    job.spec.stdin_fd = ends[0];
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "hello");
    close(ends[0]);
}

static void test_signal(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "kill -SEGV $$");
    struct jail_status status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGSEGV);
}

static void test_host_files_are_absent(void **state)
{
    (void)state;
    char name[] = "/tmp/kgrade-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    char script[256];
    snprintf(script, sizeof script,
             "for f in /etc/shadow /etc/passwd /home /root /var /sys /run %s; do "
             "[ -e $f ] && exit 1; done; ls /.. /etc",
             name);
    const char *text = run_script(script);
    unlink(name);
    close(fd);
    assert_string_equal(text,
                        access("/lib64", F_OK)
                            ? "/..:\nbin\ndev\netc\nlib\nproc\ntmp\nusr\n\n/etc:\nld.so.cache\n"
                            : "/..:\nbin\ndev\netc\nlib\nlib64\nproc\ntmp\nusr\n\n/etc:\n"
                              "ld.so.cache\n");
}

static void test_binds_are_read_only(void **state)
{
    (void)state;
    const char *text = run_script("for f in /x /usr/x /bin/x /dev/x /etc/x /proc/x; do "
                                  "touch $f 2>/dev/null && echo $f; done; "
                                  "mount 2>/dev/null | grep -c ' / .*ro,nosuid,nodev'; "
                                  "mount | grep ' /usr ' | grep -c 'ro,nosuid,nodev'");
    assert_string_equal(text, "1\n1\n");
}

static void test_writable_bind(void **state)
{
    (void)state;
    char name[] = "/tmp/kgrade-test-XXXXXX"; /* mode 0700, of our user */
    char path[64], text[64] = "";
    assert_non_null(mkdtemp(name));
    struct job job;
    job_init(&job, "echo made > /out/file && cat /out/file");
    job_bind(&job, name, "/out", true);
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    snprintf(path, sizeof path, "%s/file", name);
    assert_int_equal(access(path, R_OK), 0);
    kgrade_error err;
    assert_int_equal(io_remove_tree(name, &err), 0);
}

static void test_source_below_a_closed_folder(void **state)
{
    (void)state;
    char name[] = "/tmp/kgrade-test-XXXXXX";
    char path[64], text[64];
    assert_non_null(mkdtemp(name));
    snprintf(path, sizeof path, "%s/source.c", name);
    kgrade_error err;
    assert_int_equal(io_write_file(path, "int x;\n", 7, &err), 0);
    struct job job;
    job_init(&job, "cat /src/a/b/source.c");
    job_bind(&job, path, "/src/a/b/source.c", false);
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "int x;\n");
    io_remove_tree(name, &err);
}

static void test_tmp_is_private_and_limited(void **state)
{
    (void)state;
    const char *text = run_script("cd /tmp && pwd && ls -A | wc -l && "
                                  "dd if=/dev/zero of=a bs=1M count=7 2>/dev/null && echo fits; "
                                  "dd if=/dev/zero of=b bs=1M count=7 2>/dev/null || echo full; "
                                  "rm a b; "
                                  "dd if=/dev/zero of=/dev/shm/c bs=1M count=9 2>/dev/null || "
                                  "echo shm full; "
                                  "printf '#!/bin/sh\\necho runs\\n' > r; chmod +x r; ./r");
    assert_string_equal(text, "/tmp\n0\nfits\nfull\nshm full\nruns\n");
}

static void test_tmp_inodes_are_limited(void **state)
{
    (void)state;
    const char *text = run_script("i=0; cd /tmp; while [ $i -lt 3000 ] && true > $i; do "
                                  "i=$((i+1)); done 2>/dev/null; ls | wc -l");
    assert_in_range(strtol(text, NULL, 10), 1000, 2048); /* 8 MiB / 4096 */
}

static void test_proc_shows_only_the_jail(void **state)
{
    (void)state;
    const char *text = run_script("ls /proc | grep -c '^[0-9]'; "
                                  "cat /proc/1/environ /proc/1/maps 2>/dev/null | wc -c; "
                                  "ls /proc/1/fd 2>/dev/null | wc -l; "
                                  "kill -9 1; kill -TERM 1; sleep 0.01; echo alive");
    long processes = strtol(text, NULL, 10);
    assert_in_range(processes, 2, 5);
    assert_string_equal(strchr(text, '\n'), "\n0\n0\nalive\n");
}

static void test_network_is_absent(void **state)
{
    (void)state;
    const char *text = run_script("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
                                  "wc -l < /proc/net/route");
    assert_true(!strcmp(text, "lo\n1\n") || !strcmp(text, "lo\n0\n"));
}

static void test_identity(void **state)
{
    (void)state;
    const char *text = run_script("id -u; id -g; uname -n; "
                                  "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | "
                                  "tr '\\t' ' '");
    assert_string_equal(text, "1000\n1000\nkgrade\n"
                              "CapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
                              "CapEff: 0000000000000000\nCapBnd: 0000000000000000\n"
                              "CapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n");
}

static void test_descriptors(void **state)
{
    (void)state;
    char text[256];
    struct job job;
    int open_here[20]; /* without O_CLOEXEC */
    for (size_t i = 0; i < 20; i++)
        open_here[i] = dup(0);
    job_init(&job, NULL);
    job_probe(&job, "descriptors", NULL);
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "0 1 2 ");
    /* The same one twice, and in an order that collides with the places. */
    const int extra[] = {open_here[3], 2, 0, open_here[3]};
    job.spec.fds = extra;
    job.spec.n_fds = 4;
    status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "0 1 2 3 4 5 6 ");
    for (size_t i = 0; i < 20; i++)
        close(open_here[i]);
}

static void test_environment_and_arguments(void **state)
{
    (void)state;
    char text[256];
    setenv("KGRADE_SECRET", "secret", 1);
    static const char *const env[] = {"A=1", "B=two words", NULL};
    struct job job;
    job_init(&job, NULL);
    job.argv[0] = "/usr/bin/env";
    job.argv[1] = NULL;
    job.spec.env = env;
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_string_equal(text, "A=1\nB=two words\n");
    job_init(&job, "pwd; echo \"$0 $1\"");
    job.argv[3] = "zero";
    job.argv[4] = "/usr";
    job.spec.workdir = "/usr/lib";
    status = run_job(&job, text, sizeof text);
    assert_string_equal(text, "/usr/lib\nzero /usr\n");
}

/* How jails end */

/* Starts a job with the death pipe as descriptor 3; its reading end goes to ret_pipe. */
static struct jail *spawn_with_pipe(struct job *job, int *ret_pipe)
{
    static int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    job->spec.fds = &ends[1];
    job->spec.n_fds = 1;
    struct jail *jail = spawn(job);
    close(ends[1]);
    *ret_pipe = ends[0];
    return jail;
}

static void test_deadline(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "while :; do :; done & while :; do :; done");
    job.spec.limits.wall_ns = SECONDS / 4;
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_int_equal(status.end, JAIL_DEADLINE);
    assert_in_range(status.wall_ns, SECONDS / 4, SECONDS);
    assert_true(status.cpu_ns > SECONDS / 20); /* it is seen to have worked, not slept */
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
    jail_free(jail);
}

static void test_daemons_die(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job,
             "(setsid sh -c 'trap \"\" TERM HUP INT; setsid sleep 100 & sleep 100' &) ; exit 5");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_exit(&status, 5);
    assert_true(drain(pipe_end, NULL, 0, io_now())); /* already: no waiting */
    close(pipe_end);
    jail_free(jail);
}

static void test_kill(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "trap '' TERM HUP; sleep 100 & echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    char byte;
    assert_int_equal(read(pipe_end, &byte, 1), 1);

    struct jail_status status;
    kgrade_error err;
    assert_int_equal(jail_wait(jail, io_now() + SECONDS / 50, &status, &err), -1);
    assert_string_equal(err.code, "io_timeout");
    struct pollfd p = {.fd = jail_poll_fd(jail), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    uint64_t start = io_now();
    jail_kill(jail);
    jail_kill(jail);
    status = wait_for(jail);
    assert_true(io_now() - start < SECONDS / 10);
    assert_int_equal(status.end, JAIL_KILLED);
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
    jail_kill(jail);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED); /* the same again */
    jail_free(jail);
}

static void test_free_kills(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "sleep 100 & sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    jail_free(jail);
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
}

/* A client that dies takes its jails with it. */
static void test_client_death(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t client = fork();
    if (client == 0) {
        box = start_sandbox(SANDBOX_FULL);
        struct job job;
        job_init(&job, "echo x >&3; sleep 100");
        job.spec.fds = &ends[1];
        job.spec.n_fds = 1;
        spawn(&job);
        pause();
    }
    close(ends[1]);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    assert_true(drain(ends[0], NULL, 0, io_now() + 2 * SECONDS));
    close(ends[0]);
}

static pid_t child_named(const char *name)
{
    char path[300], line[300];
    DIR *dir = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int parent = 0;
        char comm[64] = "";
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof line, f) &&
            sscanf(line, "%*d (%60[^)]) %*c %d", comm, &parent) == 2 && parent == getpid() &&
            !strcmp(comm, name))
            found = (pid_t)atoi(e->d_name); /* the newest of them */
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void test_spawner_death(void **state)
{
    (void)state;
    struct sandbox *kept = box;
    box = start_sandbox(SANDBOX_FULL);
    struct job job;
    int pipe_end;
    job_init(&job, "trap '' TERM HUP; setsid sleep 100 & echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    char byte;
    assert_int_equal(read(pipe_end, &byte, 1), 1);
    pid_t spawner = child_named("kgrade-spawner");
    assert_true(spawner > 0);
    kill(spawner, SIGKILL);
    assert_true(drain(pipe_end, NULL, 0, io_now() + 2 * SECONDS));
    close(pipe_end);
    struct jail_status status;
    kgrade_error err = {0};
    assert_int_equal(jail_wait(jail, io_now() + SECONDS, &status, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    jail_free(jail);
    struct jail *none = NULL;
    assert_int_equal(jail_spawn(box, &job.spec, &none, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    sandbox_stop(box);
    box = kept;
}

static void test_stop_kills(void **state)
{
    (void)state;
    struct sandbox *kept = box;
    box = start_sandbox(SANDBOX_FULL);
    struct job job;
    int pipe_end;
    job_init(&job, "sleep 100 & echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    char byte;
    assert_int_equal(read(pipe_end, &byte, 1), 1);
    sandbox_stop(box);
    box = kept;
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED);
    jail_free(jail);
}

/* Failures of the set-up */

static void expect_not_started(struct job *job, const char *code, const char *in_message)
{
    struct jail_status status = run_job(job, NULL, 0);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, code);
    if (!strstr(status.error.message, in_message))
        fail_msg("%s is not in: %s", in_message, status.error.message);
    assert_true(status.error.hint[0]);
}

static void test_not_started(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "true");
    job_bind(&job, "/no/such/file", "/x", false);
    expect_not_started(&job, "jail_setup_failed", "/no/such/file");
    job.binds[job.spec.n_binds - 1].optional = true;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_exit(&status, 0);

    job_init(&job, "true");
    job_bind(&job, "/etc", "/usr/no-such-folder", false); /* below a read-only bind */
    expect_not_started(&job, "jail_setup_failed", "/usr/no-such-folder");
    job_init(&job, "true");
    job.argv[0] = "/no/such/program";
    expect_not_started(&job, "jail_exec_failed", "/no/such/program");
    job.argv[0] = "/etc/ld.so.cache";
    expect_not_started(&job, "jail_exec_failed", "Permission denied");
}

static void test_invalid_is_told_at_once(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "true");
    job.spec.limits.wall_ns = 0;
    struct jail *jail = NULL;
    kgrade_error err;
    assert_int_equal(jail_spawn(box, &job.spec, &jail, &err), -1);
    assert_string_equal(err.code, "jail_invalid");
    job_init(&job, "true");
    job.spec.stdout_fd = 1000;
    assert_int_equal(jail_spawn(box, &job.spec, &jail, &err), -1);
    assert_string_equal(err.code, "jail_invalid");
}

static void test_sandbox_cannot_start(void **state)
{
    (void)state;
    struct sandbox *s = NULL;
    kgrade_error err;
    struct sandbox_options options = {.spawner = "/no/such/spawner", .level = SANDBOX_FULL};
    assert_int_equal(sandbox_start(&options, &s, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    options.spawner = "/bin/true"; /* says nothing */
    assert_int_equal(sandbox_start(&options, &s, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
}

/* Limits, each crossed */

static void test_process_limit(void **state)
{
    (void)state;
    char text[64];
    struct job job;
    job_init(&job, NULL);
    job_probe(&job, "forks", NULL);
    job.spec.limits.processes = 16;
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_int_equal(strtol(text, NULL, 10), 15); /* it is one itself */
}

static void test_fork_bomb(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "b() { b | b & }; b; while :; do b; done");
    job.spec.limits.wall_ns = SECONDS / 2;
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    struct jail_status status = wait_for(jail);
    assert_true(status.end == JAIL_DEADLINE || status.end == JAIL_EXITED);
    assert_true(drain(pipe_end, NULL, 0, io_now()));
    close(pipe_end);
    jail_free(jail);
}

static void test_memory_limit(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)state;
    print_message("skipped: a sanitizer needs terabytes of address space\n");
    skip();
#else
    (void)state;
    char text[64];
    struct job job;
    job_init(&job, NULL);
    job_probe(&job, "memory", NULL);
    run_job(&job, text, sizeof text);
    assert_string_equal(text, "got it\n");
    job.spec.limits.memory_bytes = 1ull << 30;
    run_job(&job, text, sizeof text);
    assert_string_equal(text, "refused\n");
#endif
}

static void test_other_limits(void **state)
{
    (void)state;
    char text[512];
    struct job job;
    job_init(&job, "ulimit -n; ulimit -c; ulimit -Hc; ulimit -t; ulimit -s; "
                   "dd if=/dev/zero of=f bs=4096 count=1 2>/dev/null && echo written; "
                   "dd if=/dev/zero of=f bs=4096 count=10; wc -c < f");
    job.spec.limits.open_files = 20;
    job.spec.limits.cpu_seconds = 9;
    job.spec.limits.file_bytes = 8192;
    run_job(&job, text, sizeof text);
    const char start[] = "20\n0\n0\n9\n8192\nwritten\n";
    assert_memory_equal(text, start, strlen(start));
    assert_non_null(strstr(text, "\n8192\n"));

    job_init(&job, "while :; do :; done");
    job.spec.limits.cpu_seconds = 1;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGXCPU);
}

/* Many */

static void *one_of_many(void *arg)
{
    int number = *(int *)arg, *result = arg;
    struct job job;
    char script[64];
    snprintf(script, sizeof script, "sleep 0.1; exit %d", number);
    job_init(&job, script);
    struct jail *jail = NULL;
    struct jail_status status;
    *result = -1;
    if (jail_spawn(box, &job.spec, &jail, NULL))
        return NULL;
    if (!jail_wait(jail, io_now() + 30 * SECONDS, &status, NULL) && status.end == JAIL_EXITED)
        *result = status.code == number ? 0 : -2;
    jail_free(jail);
    return NULL;
}

static void test_fifty_at_once(void **state)
{
    (void)state;
    enum { MANY = 50 };
    pthread_t threads[MANY];
    int numbers[MANY];
    for (int i = 0; i < MANY; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, &numbers[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(numbers[i], 0);
    }
}

static void test_slots_run_out(void **state)
{
    (void)state;
    enum { SLOTS = 256 };
    static struct jail *jails[SLOTS + 1];
    struct job job;
    job_init(&job, "exec sleep 100");
    for (int i = 0; i <= SLOTS; i++)
        jails[i] = spawn(&job);
    struct jail_status status = wait_for(jails[SLOTS]);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, "sandbox_busy");
    for (int i = 0; i <= SLOTS; i++)
        jail_kill(jails[i]);
    for (int i = 0; i <= SLOTS; i++)
        jail_free(jails[i]);
    run_script("true");
}

/* A client that talks nonsense: the spawner answers on the leash if there is one, and goes on. */
static void test_malformed_requests(void **state)
{
    (void)state;
    int socket_at = -1; /* ours is the only one of its kind */
    for (int fd = 3; fd < 1024 && socket_at < 0; fd++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET)
            socket_at = fd;
    }
    assert_true(socket_at >= 0);
    srand(2);
    for (int round = 0; round < 50; round++) {
        int leash[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, leash), 0);
        uint8_t junk[2000];
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (uint8_t)rand();
        union {
            struct cmsghdr align;
            char data[CMSG_SPACE(30 * sizeof(int))];
        } control;
        memset(&control, 0, sizeof control);
        struct iovec io = {.iov_base = junk, .iov_len = (size_t)rand() % sizeof junk + 1};
        size_t n = (size_t)round % 31; /* also none, and more than are taken */
        struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
        if (n) {
            m.msg_control = &control;
            m.msg_controllen = CMSG_SPACE(n * sizeof(int));
            struct cmsghdr *c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(n * sizeof(int));
            for (size_t i = 0; i < n; i++)
                memcpy(CMSG_DATA(c) + i * sizeof(int), &leash[1], sizeof(int));
        }
        assert_true(sendmsg(socket_at, &m, MSG_NOSIGNAL) > 0);
        close(leash[1]);
        struct protocol_status answer;
        struct jail_status status;
        kgrade_error err;
        struct pollfd p = {.fd = leash[0], .events = POLLIN};
        assert_int_equal(poll(&p, 1, 2000), 1);
        ssize_t got = recv(leash[0], &answer, sizeof answer, 0);
        if (n == 0) {
            assert_int_equal(got, 0);
        } else {
            assert_int_equal(protocol_read_status(&answer, (size_t)got, &status, &err), 0);
            assert_int_equal(status.end, JAIL_NOT_STARTED);
            assert_string_equal(status.error.code, "jail_invalid");
        }
        close(leash[0]);
    }
    assert_string_equal(run_script("echo still here"), "still here\n");
}

static void test_start_time(void **state)
{
    (void)state;
    enum { ROUNDS = 21 };
    uint64_t best = UINT64_MAX, times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        char text[64];
        struct job job;
        job_init(&job, NULL);
        job_probe(&job, "now", NULL);
        uint64_t start = io_now(), then;
        struct jail_status status = run_job(&job, text, sizeof text);
        assert_exit(&status, 0);
        memcpy(&then, text, sizeof then);
        times[i] = then - start;
        best = times[i] < best ? times[i] : best;
    }
    for (int i = 0; i < ROUNDS; i++) /* the median, by counting */
        for (int k = i + 1; k < ROUNDS; k++)
            if (times[k] < times[i]) {
                uint64_t t = times[i];
                times[i] = times[k];
                times[k] = t;
            }
    print_message("from jail_spawn to main() in the jail: median %.2f ms, best %.2f ms\n",
                  (double)times[ROUNDS / 2] / 1e6, (double)best / 1e6);
    assert_true(best < SECONDS / 10);
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    size_t mounts = count_lines("/proc/self/mountinfo");
    size_t descriptors = count_descriptors();
    struct sandbox *kept = box;
    box = start_sandbox(SANDBOX_FULL);
    for (int i = 0; i < 5; i++) {
        run_script("sleep 100 & mkdir -p /tmp/a/b; echo x > /tmp/a/b/c");
        struct job job;
        job_init(&job, "sleep 100");
        jail_free(spawn(&job));
        job.argv[0] = "/no/such/program";
        run_job(&job, NULL, 0);
    }
    sandbox_stop(box);
    box = kept;
    assert_int_equal(count_lines("/proc/self/mountinfo"), mounts);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(child_named("kgrade-jail"), 0);
}

static void test_probes(void **state)
{
    (void)state;
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    size_t n = sandbox_probe_all(probes, &level);
    assert_in_range(n, 8, SANDBOX_MAX_PROBES);
    assert_int_equal(level, SANDBOX_FULL);
    for (size_t i = 0; i < n; i++) {
        print_message("%-18s %-3s %s\n", probes[i].name, probes[i].works ? "yes" : "no",
                      probes[i].detail);
        assert_true(probes[i].detail[0]);
        assert_true(probes[i].works ? !probes[i].fix[0] : probes[i].fix[0]);
        assert_true(probes[i].works || !probes[i].required);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return inside(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_malformed_requests),
        cmocka_unit_test(test_exit_code_and_output),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_host_files_are_absent),
        cmocka_unit_test(test_binds_are_read_only),
        cmocka_unit_test(test_writable_bind),
        cmocka_unit_test(test_source_below_a_closed_folder),
        cmocka_unit_test(test_tmp_is_private_and_limited),
        cmocka_unit_test(test_tmp_inodes_are_limited),
        cmocka_unit_test(test_proc_shows_only_the_jail),
        cmocka_unit_test(test_network_is_absent),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_environment_and_arguments),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_daemons_die),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_free_kills),
        cmocka_unit_test(test_client_death),
        cmocka_unit_test(test_spawner_death),
        cmocka_unit_test(test_stop_kills),
        cmocka_unit_test(test_not_started),
        cmocka_unit_test(test_invalid_is_told_at_once),
        cmocka_unit_test(test_sandbox_cannot_start),
        cmocka_unit_test(test_process_limit),
        cmocka_unit_test(test_fork_bomb),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_other_limits),
        cmocka_unit_test(test_fifty_at_once),
        cmocka_unit_test(test_slots_run_out),
        cmocka_unit_test(test_start_time),
        cmocka_unit_test(test_nothing_is_left),
    };
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    size_t n = sandbox_probe_all(probes, &level);
    if (level != SANDBOX_FULL) {
        for (size_t i = 0; i < n; i++)
            if (probes[i].required && !probes[i].works)
                print_message("skipped: no %s here: %s\n", probes[i].name, probes[i].detail);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, start_group, stop_group);
}
