/*
 * Making, limiting, killing and removing cgroups.
 *
 * What is only reading and writing files is tried on folders that look like cgroups; the rest needs
 * a hierarchy of version 2 in which this user may make cgroups.
 */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "sandbox/cgroup.h"
#include "sandbox/jail.h"

/* Folders that look like cgroups */

static char fake[] = "/tmp/kgrade-test-XXXXXX";
static struct cgroup_places places;
static char proc[64];

static void put(const char *file, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", fake, file);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_file(const char *file, const char *text)
{
    char path[200];
    kgrade_error err;
    struct bytes found = {0};
    snprintf(path, sizeof path, "%s/%s", fake, file);
    assert_int_equal(io_read_file(path, 4096, &found, &err), 0);
    assert_string_equal((const char *)found.data, text);
    bytes_free(&found);
}

static void make(const char *folder)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", fake, folder);
    assert_int_equal(mkdir(path, 0755), 0);
}

/* A hierarchy with this process in the cgroup /unit. */
static int make_fake(void **state)
{
    (void)state;
    memcpy(fake + strlen(fake) - 6, "XXXXXX", 6);
    if (!mkdtemp(fake))
        return -1;
    char text[300];
    make("proc");
    make("unit");
    put("proc/cgroup", "4:memory:/elsewhere\n0::/unit\n");
    snprintf(text, sizeof text,
             "22 1 0:20 / /sys rw - sysfs sysfs rw\n"
             "31 22 0:27 /below %s/wrong rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
             "32 22 0:27 / %s rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
             fake, fake);
    put("proc/mountinfo", text);
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    put("unit/cgroup.procs", text);
    put("unit/cgroup.subtree_control", "\n");
    put("unit/cgroup.type", "domain\n");
    put("unit/cgroup.events", "populated 1\nfrozen 0\n");
    snprintf(proc, sizeof proc, "%s/proc", fake);
    places = (struct cgroup_places){.proc = proc, .systemd = "/no/systemd"};
    return 0;
}

static int remove_fake(void **state)
{
    (void)state;
    return io_remove_tree(fake, NULL);
}

static void expect_no_home(const char *in_message)
{
    struct cgroup_home home;
    kgrade_error err = {0};
    assert_int_equal(cgroup_home_find(&places, &home, &err), -1);
    assert_string_equal(err.code, "cgroup_unavailable");
    if (!strstr(err.message, in_message))
        fail_msg("%s is not in: %s", in_message, err.message);
    assert_true(err.hint[0]);
}

static void test_home_is_found(void **state)
{
    (void)state;
    struct cgroup_home home;
    kgrade_error err;
    char wanted[200];
    assert_int_equal(cgroup_home_find(&places, &home, &err), 0);
    snprintf(wanted, sizeof wanted, "%s/unit", fake);
    assert_string_equal(home.folder, wanted);
    assert_false(home.is_root || home.in_main);
    put("proc/cgroup", "0::/unit/kgrade-main\n");
    assert_int_equal(cgroup_home_find(&places, &home, &err), 0);
    assert_string_equal(home.folder, wanted);
    assert_true(home.in_main);
    /* The root of the hierarchy has no such file. */
    snprintf(wanted, sizeof wanted, "%s/unit/cgroup.events", fake);
    unlink(wanted);
    put("proc/cgroup", "0::/unit\n");
    assert_int_equal(cgroup_home_find(&places, &home, &err), 0);
    assert_true(home.is_root);
}

static void test_no_home(void **state)
{
    (void)state;
    put("proc/cgroup", "4:memory:/unit\n");
    expect_no_home("no cgroup v2");
    put("proc/cgroup", "0::/../unit\n");
    expect_no_home("outside");
    put("proc/cgroup", "0::/absent\n");
    expect_no_home("cannot be opened");
    put("proc/cgroup", "0::/unit\n");
    put("unit/cgroup.type", "threaded\n");
    expect_no_home("divided");
    put("unit/cgroup.type", "domain\n");
    put("proc/mountinfo", "22 1 0:20 / /sys rw - sysfs sysfs rw\n");
    expect_no_home("not mounted");
}

static void test_home_of_somebody_else(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/unit", fake);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        expect_no_home("not delegated");
        assert_int_equal(chown(path, 0, 0), 0);
        /* Root may write everywhere, but where systemd runs it says what it has given away. */
        places.systemd = fake;
        expect_no_home("belongs to systemd");
    } else {
        assert_int_equal(chmod(path, 0555), 0);
        expect_no_home("not delegated");
        assert_int_equal(chmod(path, 0755), 0);
    }
}

static void test_stepping_aside(void **state)
{
    (void)state;
    kgrade_error err = {0};
    char text[64];
    make("unit/kgrade-main"); /* in a real hierarchy the files come by themselves */
    put("unit/kgrade-main/cgroup.procs", "");
    assert_int_equal(cgroup_home_step_aside(&places, &err), 0);
    expect_file("unit/kgrade-main/cgroup.procs", "0");
    /* Not when others live here. */
    put("unit/kgrade-main/cgroup.procs", "");
    snprintf(text, sizeof text, "1\n%d\n", (int)getpid());
    put("unit/cgroup.procs", text);
    assert_int_equal(cgroup_home_step_aside(&places, &err), -1);
    assert_non_null(strstr(err.message, "not kgrade's"));
    put("unit/cgroup.procs", "0\n");
    assert_int_equal(cgroup_home_step_aside(&places, &err), -1);
    expect_file("unit/kgrade-main/cgroup.procs", "");
    /* Once is enough. */
    put("proc/cgroup", "0::/unit/kgrade-main\n");
    assert_int_equal(cgroup_home_step_aside(&places, &err), 0);
    expect_file("unit/kgrade-main/cgroup.procs", "");
}

static int open_unit(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/unit", fake);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void test_limits_are_written(void **state)
{
    (void)state;
    const struct jail_limits limits = {
        .memory_total_bytes = 123456789, .processes = 17, .cpu_percent = 250};
    const struct cgroup_controllers all = {true, true, true}, none = {0};
    kgrade_error err = {0};
    int fd = open_unit();
    assert_int_equal(cgroup_limit(fd, &none, &limits, 1, &err), 0); /* no file is there */
    assert_int_equal(cgroup_limit(fd, &all, &limits, 1, &err), -1);
    assert_string_equal(err.code, "jail_setup_failed");
    put("unit/memory.max", "");
    put("unit/memory.oom.group", "");
    put("unit/pids.max", "");
    put("unit/cpu.max", "");
    assert_int_equal(cgroup_limit(fd, &all, &limits, 1, &err), 0); /* without swap */
    put("unit/memory.swap.max", "");
    assert_int_equal(cgroup_limit(fd, &all, &limits, 1, &err), 0);
    expect_file("unit/memory.max", "123456789");
    expect_file("unit/memory.swap.max", "0");
    expect_file("unit/memory.oom.group", "1");
    expect_file("unit/pids.max", "18");
    expect_file("unit/cpu.max", "250000 100000");
    put("unit/memory.max", "");
    put("unit/cpu.max", "");
    const struct jail_limits few = {.processes = 3};
    assert_int_equal(cgroup_limit(fd, &all, &few, 0, &err), 0);
    expect_file("unit/memory.max", "");
    expect_file("unit/cpu.max", "");
    close(fd);
}

static void test_files_are_read(void **state)
{
    (void)state;
    struct jail_status status = {.peak_bytes = 5};
    int fd = open_unit();
    assert_int_equal(cgroup_populated(fd), 1);
    put("unit/cgroup.events", "populated 0\nfrozen 0\n");
    assert_int_equal(cgroup_populated(fd), 0);
    put("unit/cgroup.events", "");
    assert_int_equal(cgroup_populated(fd), -1);
    cgroup_usage(fd, &status);
    assert_int_equal(status.peak_bytes, 5);
    assert_false(status.out_of_memory);
    put("unit/memory.peak", "987654321\n");
    put("unit/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\noom_group_kill 0\n");
    cgroup_usage(fd, &status);
    assert_int_equal(status.peak_bytes, 987654321);
    assert_false(status.out_of_memory);
    put("unit/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 4\noom_group_kill 1\n");
    cgroup_usage(fd, &status);
    assert_true(status.out_of_memory);
    close(fd);
    assert_true(cgroup_has_word("cpu memory pids", "memory"));
    assert_true(cgroup_has_word("pids", "pids"));
    assert_false(cgroup_has_word("cpuset memory", "cpu"));
    assert_false(cgroup_has_word("", "cpu"));
}

/* A real hierarchy */

static struct cgroup_group group;

static bool open_real(void)
{
    kgrade_error err = {0};
    group = CGROUP_NO_GROUP;
    if (cgroup_home_step_aside(&cgroup_real_places, &err) || cgroup_group_open(&group, &err)) {
        print_message("skipped: %s %s\n", err.message, err.hint);
        return false;
    }
    if (group.can_kill)
        return true;
    print_message("skipped: this kernel has no cgroup.kill\n");
    cgroup_group_close(&group);
    return false;
}

#define NEED_GROUP()                                                                               \
    do {                                                                                           \
        if (!open_real())                                                                          \
            skip();                                                                                \
    } while (0)

static bool is_there(const char *name)
{
    struct stat st;
    return fstatat(group.home_fd, name, &st, 0) == 0;
}

static void remove_jail(unsigned slot)
{
    bool removed = false;
    for (uint64_t end = io_now() + PATIENCE; !removed && io_now() < end; usleep(1000))
        removed = cgroup_jail_remove(&group, slot);
    assert_true(removed);
}

/* Waits for a process that has been killed. */
static void reap(pid_t pid)
{
    pid_t got = 0;
    for (uint64_t end = io_now() + PATIENCE; got == 0 && io_now() < end; usleep(1000))
        got = waitpid(pid, NULL, WNOHANG);
    if (got == 0)
        kill(pid, SIGKILL);
    assert_int_equal(got, pid);
}

/* A process in the cgroup `fd` with a child that has left its session; ends[0] says when they run,
 * and when the last is dead. */
static pid_t start_family(int fd, int *ret_pipe)
{
    int ends[2], pidfd;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = jail_clone(0, fd, &pidfd);
    assert_true(pid >= 0);
    if (pid == 0) {
        close_range(0, 2, 0); /* if the test fails, nobody is to wait for these */
        if (fork() == 0) {
            setsid();
            if (write(ends[1], "x", 1) != 1)
                _exit(1);
        }
        for (;;)
            pause();
    }
    close(pidfd);
    close(ends[1]);
    wait_for_byte(ends[0]);
    *ret_pipe = ends[0];
    return pid;
}

static void test_kill_and_remove(void **state)
{
    (void)state;
    NEED_GROUP();
    const struct jail_limits limits = {.memory_total_bytes = 64 << 20, .processes = 10};
    kgrade_error err = {0};
    int pipe_end, fd = cgroup_jail_make(&group, 3, &limits, 1, &err);
    assert_true(fd >= 0);
    assert_int_equal(cgroup_jail_populated(&group, 3), 0);
    pid_t pid = start_family(fd, &pipe_end);
    assert_int_equal(cgroup_jail_populated(&group, 3), 1);
    cgroup_jail_kill(&group, 3);
    assert_all_die(pipe_end);
    reap(pid);
    remove_jail(3);
    assert_int_equal(cgroup_jail_populated(&group, 3), -1);
    assert_true(cgroup_jail_remove(&group, 3)); /* the same again */
    close(fd);
    cgroup_group_close(&group);
}

/* Removing a jail in which something lives kills that first. */
static void test_remove_kills(void **state)
{
    (void)state;
    NEED_GROUP();
    const struct jail_limits limits = {.processes = 10};
    kgrade_error err = {0};
    int pipe_end, fd = cgroup_jail_make(&group, 255, &limits, 1, &err);
    assert_true(fd >= 0);
    assert_int_equal(mkdirat(fd, "inner", 0755), 0); /* one that may write there can do this */
    assert_int_equal(mkdirat(fd, "inner/most", 0755), 0);
    pid_t pid = start_family(fd, &pipe_end);
    assert_false(cgroup_jail_remove(&group, 255));
    reap(pid);
    remove_jail(255);
    assert_all_dead(pipe_end);
    close(fd);
    char name[64];
    snprintf(name, sizeof name, "%s", group.name);
    int home = dup(group.home_fd);
    cgroup_group_close(&group);
    struct stat st;
    assert_int_equal(fstatat(home, name, &st, 0), -1);
    close(home);
}

/* Another spawner with a jail; *ret_pipe tells the name of its group and when all of it is dead. */
static pid_t start_other_spawner(int *ret_pipe)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
        const struct jail_limits limits = {.processes = 10};
        struct cgroup_group g;
        if (cgroup_group_open(&g, NULL))
            _exit(1);
        int family, jail = cgroup_jail_make(&g, 1, &limits, 0, NULL);
        if (jail < 0 || start_family(jail, &family) <= 0 ||
            write(ends[1], g.name, sizeof g.name) != sizeof g.name)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    *ret_pipe = ends[0];
    return pid;
}

/* What a spawner that is killed leaves behind goes when the next one starts or stops; what lives
 * stays. */
static void test_left_overs_are_swept(void **state)
{
    (void)state;
    NEED_GROUP();
    cgroup_group_close(&group);
    const struct jail_limits limits = {.processes = 10};
    kgrade_error err = {0};
    int others, mine;
    pid_t other = start_other_spawner(&others);
    char name[sizeof group.name];
    assert_int_equal(io_read_full(others, name, sizeof name, io_now() + PATIENCE, &err), 0);
    assert_true(open_real());
    assert_true(is_there(name));
    int fd = cgroup_jail_make(&group, 0, &limits, 0, &err);
    assert_true(fd >= 0);
    pid_t pid = start_family(fd, &mine);
    cgroup_sweep(&group.home);
    assert_true(is_there(name));
    assert_true(is_there(group.name));
    kill(other, SIGKILL);
    reap(other);
    cgroup_sweep(&group.home);
    assert_false(is_there(name));
    assert_all_die(others);
    assert_true(is_there(group.name));
    assert_int_equal(cgroup_jail_populated(&group, 0), 1);
    cgroup_jail_kill(&group, 0);
    reap(pid);
    remove_jail(0);
    close(fd);
    close(mine);
    cgroup_group_close(&group);
}

/* A group that is being made looks like one that was left. */
static void test_spawners_do_not_sweep_each_other(void **state)
{
    (void)state;
    NEED_GROUP();
    cgroup_group_close(&group);
    enum { MANY = 4, TIMES = 25 };
    pid_t pids[MANY];
    for (int i = 0; i < MANY; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
            for (int k = 0; k < TIMES; k++) {
                struct cgroup_group g;
                kgrade_error err;
                if (cgroup_group_open(&g, &err)) {
                    print_message("%s\n", err.message);
                    _exit(1);
                }
                cgroup_group_close(&g);
            }
            _exit(0);
        }
    }
    int bad = 0;
    for (int i = 0; i < MANY; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += status != 0;
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_home_is_found, make_fake, remove_fake),
        cmocka_unit_test_setup_teardown(test_no_home, make_fake, remove_fake),
        cmocka_unit_test_setup_teardown(test_home_of_somebody_else, make_fake, remove_fake),
        cmocka_unit_test_setup_teardown(test_stepping_aside, make_fake, remove_fake),
        cmocka_unit_test_setup_teardown(test_limits_are_written, make_fake, remove_fake),
        cmocka_unit_test_setup_teardown(test_files_are_read, make_fake, remove_fake),
        cmocka_unit_test(test_kill_and_remove),
        cmocka_unit_test(test_remove_kills),
        cmocka_unit_test(test_left_overs_are_swept),
        cmocka_unit_test(test_spawners_do_not_sweep_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
