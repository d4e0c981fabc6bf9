/* The reduced level, the replacement of paths, and the removal of what a hostile program left. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sandbox/landlock.h"
#include "sandbox/scratch.h"
#include "sandbox/tree.h"

static char work[] = "/tmp/kgrade-test-XXXXXX"; /* also $TMPDIR of the spawner */

static int start_group(void **state)
{
    (void)state;
    if (!mkdtemp(work) || chmod(work, 0711)) /* searchable for the jail's user */
        return -1;
    setenv("TMPDIR", work, 1);
    return start_group_at(SANDBOX_REDUCED);
}

static int end_group(void **state)
{
    stop_group(state);
    return rmdir(work); /* fails if anything is left */
}

static size_t scratch_folders(void)
{
    size_t n = 0;
    DIR *dir = opendir(work);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += !strncmp(e->d_name, "kgrade-jail-", 12);
    if (dir)
        closedir(dir);
    return n;
}

/* Paths */

static void check_replaced(const char *from, const char *to)
{
    static const struct jail_bind binds[] = {
        {.source = "/host/src", .target = "/src"},
        {.source = "/host/deep", .target = "/src/deep/"},
        {.source = "/usr"},
        {.source = "/tmp/kept"},
        {.source = "/host/out.so", .target = "/tmp/out.so"},
    };
    char *got = scratch_replace_paths(from, binds, sizeof binds / sizeof *binds, "/private");
    assert_string_equal(got, to);
    free(got);
}

static void test_paths_are_replaced(void **state)
{
    (void)state;
    check_replaced("/src", "/host/src");
    check_replaced("/src/a.c", "/host/src/a.c");
    check_replaced("/srcs/a.c", "/srcs/a.c");
    check_replaced("/other/src", "/other/src");
    check_replaced("src", "src");
    check_replaced("", "");
    check_replaced("/src/deep/x", "/host/deep/x");
    check_replaced("/src/deeper/x", "/host/src/deeper/x");
    check_replaced("HOME=/tmp", "HOME=/private");
    check_replaced("P=/src/bin:/usr/bin:/tmp/b", "P=/host/src/bin:/usr/bin:/private/b");
    check_replaced("-I/src/include", "-I/host/src/include");
    check_replaced("-I/src/x/src/y", "-I/host/src/x/src/y");
    check_replaced("--out=/tmp/out.so", "--out=/host/out.so");
    check_replaced("-Wl,-rpath,/src/lib", "-Wl,-rpath,/host/src/lib");
    check_replaced("/tmp/kept/file", "/tmp/kept/file");
    check_replaced("/tmp/keptx", "/private/keptx");
    check_replaced("cd /tmp && cat '/src/a' \"/src/b\"",
                   "cd /private && cat '/host/src/a' \"/host/src/b\"");
}

/* Removal */

static void test_hostile_folder_is_removed(void **state)
{
    (void)state;
    kgrade_error err;
    char *path = scratch_make(NULL, &err);
    assert_non_null(path);
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(symlinkat("/etc", at, "link"), 0);
    assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
    for (int i = 0; i < 600; i++) { /* a path of 5400 characters, longer than a path may be */
        int file = openat(at, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0);
        assert_true(file >= 0);
        close(file);
        assert_int_equal(mkdirat(at, "deeperxx", 0700), 0);
        assert_int_equal(mkdirat(at, ".removed-0", 0), 0);
        int next = openat(at, "deeperxx", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        assert_int_equal(fchmod(at, 0), 0);
        close(at);
        at = next;
    }
    close(at);
    assert_int_equal(scratch_remove(path), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    assert_int_equal(scratch_remove(path), 0);
    /* A link in its place is not followed. */
    assert_int_equal(symlink("/etc", path), 0);
    assert_int_equal(scratch_remove(path), -1);
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* Jails */

static void test_exit_code_and_output(void **state)
{
    (void)state;
    check_exit_code_and_output();
    assert_int_equal(scratch_folders(), 0);
}

static void test_identity(void **state)
{
    (void)state;
    const char *text = run_script("grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp:)' "
                                  "/proc/self/status | tr '\\t' ' '; id -u; id -g");
    const char start[] = "CapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
                         "NoNewPrivs: 1\nSeccomp: 2\n";
    assert_memory_equal(text, start, strlen(start));
    long uid = strtol(text + strlen(start), NULL, 10);
    if (geteuid() == 0)
        assert_in_range(uid, 64000, 64255);
    else
        assert_int_equal(uid, geteuid());
}

static void test_descriptors(void **state)
{
    (void)state;
    char text[256];
    struct job job;
    int stray = dup(0);
    const int extra[] = {stray, stray};
    job_init(&job, "ls /proc/$$/fd; true");
    job.spec.fds = extra;
    job.spec.n_fds = 2;
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    if (strcmp(text, "0\n1\n2\n3\n4\n"))
        assert_string_equal(text, "0\n1\n10\n2\n3\n4\n"); /* one that the shell made */
    close(stray);
}

static void test_private_folder(void **state)
{
    (void)state;
    char text[512];
    struct job job;
    job_init(&job, "pwd; echo $HOME; touch file /tmp/other && ls; mkdir -p a/b; chmod 0 a .");
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    assert_memory_equal(text, work, strlen(work));
    assert_non_null(strstr(text, "\nfile\nother\n"));
    assert_int_equal(scratch_folders(), 0);
}

static void test_binds(void **state)
{
    (void)state;
    char source[64], out[64], made[80], text[256];
    snprintf(source, sizeof source, "%s/source", work);
    snprintf(out, sizeof out, "%s/out", work);
    snprintf(made, sizeof made, "%s/made", out);
    kgrade_error err;
    assert_int_equal(io_write_file(source, "content\n", 8, &err), 0);
    assert_int_equal(mkdir(out, 0700), 0);
    struct job job;
    job_init(&job, "cat /candidate/source.c; cp /candidate/source.c /out/made; "
                   "echo x 2>/dev/null > /candidate/source.c || echo refused");
    job_bind(&job, source, "/candidate/source.c", false);
    job_bind(&job, out, "/out", true);
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    if (landlock_abi() > 0 || geteuid() == 0)
        assert_string_equal(text, "content\nrefused\n");
    assert_int_equal(access(made, F_OK), 0);
    unlink(made);
    unlink(source);
    rmdir(out);
}

static void test_files_are_confined(void **state)
{
    (void)state;
    if (landlock_abi() == 0) {
        print_message("skipped: this kernel has no Landlock\n");
        skip();
    }
    const char *text = run_script("cat /etc/passwd 2>/dev/null && echo read; "
                                  "ls /home /etc 2>/dev/null && echo listed; "
                                  "touch /var/tmp/x 2>/dev/null && echo written; "
                                  "echo x 2>/dev/null > /dev/shm/kgrade-x && echo shared; "
                                  "echo fine > /dev/null && cat /proc/cpuinfo > /dev/null; "
                                  "echo end");
    assert_string_equal(text, "end\n");
}

static void test_signals_are_confined(void **state)
{
    (void)state;
    if (landlock_abi() < 6 && geteuid() != 0) {
        print_message("skipped: needs Landlock ABI 6, or root for a user per jail\n");
        skip();
    }
    char script[128];
    snprintf(script, sizeof script, "kill -0 %d 2>/dev/null && echo us; kill -KILL $PPID; echo end",
             (int)getpid());
    assert_true(strstr(run_script(script), "us") == NULL);
}

static void test_deadline(void **state)
{
    (void)state;
    check_deadline();
    assert_int_equal(scratch_folders(), 0);
}

static void test_daemons_die(void **state)
{
    (void)state;
    check_daemons_die();
    assert_int_equal(scratch_folders(), 0);
}

/* Whose parent has died belongs to the first process: so it cannot hide. */
static void test_orphans_stay_below(void **state)
{
    (void)state;
    assert_string_equal(run_script("first=$PPID; orphan=$(sh -c 'sleep 100 >&- 2>&- & echo $!'); "
                                   "until [ $(cut -d' ' -f4 /proc/$orphan/stat) = $first ]; do "
                                   "sleep 0.01; done; echo adopted"),
                        "adopted\n");
}

/* Two daemons, each in a session of its own and without a parent, and the process that made them;
 * all hold a pipe whose reading end goes to *ret_pipe. */
static pid_t start_daemons(int *ret_pipe)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
        for (int i = 0; i < 2; i++)
            if (fork() == 0) {
                setsid();
                if (fork() == 0) {
                    while (getppid() != self)
                        usleep(1000);
                    if (write(ends[1], "x", 1) != 1)
                        _exit(1);
                    for (;;)
                        pause();
                }
                _exit(0);
            }
        for (;;)
            pause();
    }
    close(ends[1]);
    for (int i = 0; i < 2; i++)
        wait_for_byte(ends[0]);
    *ret_pipe = ends[0];
    return pid;
}

/* The exit status tells the step that went wrong. */
static int kill_trees(void)
{
    int doomed, spared;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1))
        return 1;
    pid_t gone = start_daemons(&doomed), keep = fork();
    if (keep == 0)
        for (;;)
            pause();
    if (gone < 0 || keep < 0)
        return 2;
    if (!tree_kill_below_self(&keep, 1, io_now() + PATIENCE))
        return 3;
    if (!drain(doomed, NULL, 0, io_now()))
        return 4;
    if (kill(keep, 0) || start_daemons(&spared) < 0)
        return 5;
    if (!tree_kill_below_self(NULL, 0, io_now() + PATIENCE))
        return 6;
    if (!drain(spared, NULL, 0, io_now()))
        return 7;
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 8;
}

static void test_trees_are_killed(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(kill_trees());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_kill(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "trap '' TERM HUP; setsid sleep 100 & sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    jail_kill(jail);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED);
    assert_all_dead(pipe_end);
    jail_free(jail);
    assert_int_equal(scratch_folders(), 0);
}

/* What a jail leaves when its first process is killed belongs to the spawner, which kills it. */
static void test_first_process_is_killed(void **state)
{
    (void)state;
    int pipe_end, calm_pipe;
    struct job job, calm;
    char number[32];
    job_init(&job, "echo $PPID >&3; setsid sleep 100 & sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    ssize_t n = read(pipe_end, number, sizeof number - 1);
    assert_true(n > 0);
    number[n] = 0;
    job_init(&calm, "cat; exit 6"); /* must not be hurt */
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    calm.spec.stdin_fd = ends[0];
    struct jail *other = spawn_with_pipe(&calm, &calm_pipe);
    kill((pid_t)atoi(number), SIGKILL);
    struct jail_status status = wait_for(jail);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_all_dead(pipe_end);
    jail_free(jail);
    close(ends[0]);
    close(ends[1]);
    status = wait_for(other);
    assert_exit(&status, 6);
    assert_all_dead(calm_pipe);
    jail_free(other);
    assert_int_equal(scratch_folders(), 0);
}

static void test_fork_bomb(void **state)
{
    (void)state;
    check_fork_bomb();
}

static void test_client_death(void **state)
{
    (void)state;
    check_client_death(SANDBOX_REDUCED);
    for (uint64_t end = io_now() + PATIENCE; scratch_folders() && io_now() < end;)
        usleep(10000);
    assert_int_equal(scratch_folders(), 0);
}

/* A spawner that is killed cannot remove a private folder that it has not told its jail of yet. */
static void remove_scratch_folders(void)
{
    DIR *dir = opendir(work);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[300];
        snprintf(path, sizeof path, "%s/%.200s", work, e->d_name);
        if (!strncmp(e->d_name, "kgrade-jail-", 12))
            scratch_remove(path);
    }
    if (dir)
        closedir(dir);
}

static void test_spawner_death(void **state)
{
    (void)state;
    check_spawner_death(SANDBOX_REDUCED);
    for (uint64_t end = io_now() + PATIENCE; scratch_folders() && io_now() < end;)
        usleep(10000);
    assert_int_equal(scratch_folders(), 0);
}

static void test_spawner_death_at_any_time(void **state)
{
    (void)state;
    check_spawner_death_at_any_time(SANDBOX_REDUCED, 10);
    /* The first processes tidy up, too, after all else has died. */
    for (uint64_t end = io_now() + PATIENCE; scratch_folders() && io_now() < end; usleep(10000))
        remove_scratch_folders();
    assert_int_equal(scratch_folders(), 0);
}

static void test_not_started(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "true");
    job_bind(&job, "/no/such/file", "/x", false);
    struct jail_status status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, "jail_setup_failed");
    job_init(&job, "true");
    job.argv[0] = "/usr/no-such-program";
    status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, "jail_exec_failed");
    assert_int_equal(scratch_folders(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_replaced),
        cmocka_unit_test(test_hostile_folder_is_removed),
        cmocka_unit_test(test_exit_code_and_output),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_private_folder),
        cmocka_unit_test(test_binds),
        cmocka_unit_test(test_files_are_confined),
        cmocka_unit_test(test_signals_are_confined),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_daemons_die),
        cmocka_unit_test(test_orphans_stay_below),
        cmocka_unit_test(test_trees_are_killed),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_first_process_is_killed),
        cmocka_unit_test(test_fork_bomb),
        cmocka_unit_test(test_client_death),
        cmocka_unit_test(test_spawner_death),
        cmocka_unit_test(test_spawner_death_at_any_time),
        cmocka_unit_test(test_not_started),
    };
    return cmocka_run_group_tests(tests, start_group, end_group);
}
