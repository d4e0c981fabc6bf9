/*
 * Jails in cgroups, at both levels: that nothing is left of them, and their limits where memory and
 * processes can be limited.
 */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <sys/mman.h>

#include "sandbox/cgroup.h"
#include "sandbox/jail.h"

static bool have(const char *name)
{
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    size_t n = sandbox_probe_all(probes, &level);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(probes[i].name, name)) {
            if (!probes[i].works)
                print_message("skipped: no %s: %s\n", name, probes[i].detail);
            return probes[i].works;
        }
    return false;
}

static bool have_cgroups(void)
{
    return have("cgroup_kill");
}

static bool have_controllers(void)
{
    return have("cgroup_limits");
}

/* Groups that a spawner has made; other spawners may be at work at the same time. */
static size_t groups_of(pid_t spawner)
{
    struct cgroup_home home;
    char start[32];
    if (cgroup_home_find(&cgroup_real_places, &home, NULL))
        return 0;
    size_t n = 0, length = (size_t)snprintf(start, sizeof start, "kgrade-%d-", (int)spawner);
    DIR *dir = opendir(home.folder);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += !strncmp(e->d_name, start, length);
    if (dir)
        closedir(dir);
    return n;
}

static void check_no_cgroup_is_left(enum sandbox_level level)
{
    pid_t spawner = start_another(level);
    assert_int_equal(groups_of(spawner), 1);
    check_exit_code_and_output();
    check_deadline();
    check_daemons_die();
    sandbox_stop(box);
    assert_int_equal(groups_of(spawner), 0);
    spawner = start_another(level);
    kill(spawner, SIGKILL);
    sandbox_stop(box);
    assert_int_equal(groups_of(spawner), 0);
}

static void test_full_level_leaves_no_cgroup(void **state)
{
    (void)state;
    if (!have_full_level())
        skip();
    check_no_cgroup_is_left(SANDBOX_FULL);
}

static void test_reduced_level_leaves_no_cgroup(void **state)
{
    (void)state;
    check_no_cgroup_is_left(SANDBOX_REDUCED);
}

/* Limits, where the controllers are to be had */

static int inside_touch(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    memset(p, 1, bytes);
    return 0;
}

/* Two halves that are each below the limit. */
static int inside_touch_twice(void)
{
    const size_t half = 40 << 20;
    pid_t child = fork();
    int r = inside_touch(half);
    if (child == 0)
        for (;;)
            pause();
    for (;;)
        sleep(1);
    return r;
}

static void check_memory(enum sandbox_level level)
{
    if (!have_controllers())
        skip();
    box = start_sandbox(level);
    struct job job;
    int pipe_end;
    job_init(&job, NULL);
    job_probe(&job, "touch", "20");
    job.spec.limits.memory_total_bytes = 64 << 20;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_exit(&status, 0);
    assert_false(status.out_of_memory);
    assert_in_range(status.peak_bytes, 20 << 20, 64 << 20);

    job_probe(&job, "touch", "80");
    status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGKILL);
    assert_true(status.out_of_memory);

    job_probe(&job, "touch twice", NULL); /* all of it dies */
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    status = wait_for(jail);
    assert_true(status.out_of_memory);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_all_dead(pipe_end);
    jail_free(jail);

    if (level == SANDBOX_FULL) { /* files in /tmp are memory */
        job_init(&job, "dd if=/dev/zero of=/tmp/f bs=1M count=100");
        job.spec.limits.tmp_bytes = 200 << 20;
        job.spec.limits.memory_total_bytes = 64 << 20;
        status = run_job(&job, NULL, 0);
        assert_true(status.out_of_memory);
    }
    job_init(&job, "exit 5"); /* nobody else is hurt */
    status = run_job(&job, NULL, 0);
    assert_exit(&status, 5);
    sandbox_stop(box);
}

static void test_memory_of_a_full_jail(void **state)
{
    (void)state;
    if (!have_full_level())
        skip();
    check_memory(SANDBOX_FULL);
}

static void test_memory_of_a_reduced_jail(void **state)
{
    (void)state;
    check_memory(SANDBOX_REDUCED);
}

/* RLIMIT_NPROC does not count for root, so what is counted here is the cgroup's. */
static void test_processes(void **state)
{
    (void)state;
    if (!have_controllers())
        skip();
    struct cgroup_group group;
    kgrade_error err = {0};
    assert_int_equal(cgroup_group_open(&group, &err), 0);
    const struct jail_limits limits = {.processes = 5};
    int pidfd, ends[2], n = -1, fd = cgroup_jail_make(&group, 7, &limits, 0, &err);
    assert_true(fd >= 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = jail_clone(0, fd, &pidfd);
    if (pid == 0) {
        int made = 0;
        for (pid_t child; made < 100 && (child = fork()) >= 0; made++)
            if (child == 0)
                for (;;)
                    pause();
        if (write(ends[1], &made, sizeof made) != sizeof made)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(io_read_full(ends[0], &n, sizeof n, io_now() + PATIENCE, &err), 0);
    close(ends[0]);
    close(pidfd);
    kill(pid, SIGKILL);
    while (!cgroup_jail_remove(&group, 7))
        waitpid(pid, NULL, WNOHANG);
    close(fd);
    cgroup_group_close(&group);
    assert_int_equal(n, 4);
}

/* A quarter of a CPU: whatever the machine, one second of work takes four. */
static void test_cpu(void **state)
{
    (void)state;
    if (!have_controllers())
        skip();
    struct cgroup_group group;
    kgrade_error err = {0};
    assert_int_equal(cgroup_group_open(&group, &err), 0);
    bool cpu = group.have.cpu;
    cgroup_group_close(&group);
    if (!cpu) {
        print_message("skipped: no cpu controller\n");
        skip();
    }
    box = start_sandbox(have_full_level() ? SANDBOX_FULL : SANDBOX_REDUCED);
    struct job job;
    job_init(&job, "while :; do :; done & while :; do :; done & wait");
    job.spec.limits.cpu_percent = 25;
    job.spec.limits.wall_ns = 2 * SECONDS;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_DEADLINE);
    assert_true(status.cpu_ns < status.wall_ns / 2);
    sandbox_stop(box);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "touch"))
        return inside_touch((size_t)atoi(argv[2]) << 20);
    if (argc > 1)
        return !strcmp(argv[1], "touch twice") ? inside_touch_twice() : 99;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_level_leaves_no_cgroup),
        cmocka_unit_test(test_reduced_level_leaves_no_cgroup),
        cmocka_unit_test(test_memory_of_a_full_jail),
        cmocka_unit_test(test_memory_of_a_reduced_jail),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_cpu),
    };
    if (!have_cgroups())
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
