/* What a jail at the full level is made of: namespaces, files, mounts, processes, identity. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* The inside: this program is also what runs in some jails. */

static const int clocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME};
#define N_CLOCKS (sizeof clocks / sizeof *clocks)

static uint64_t read_clock(int clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * SECONDS + (uint64_t)t.tv_nsec;
}

static int inside_clocks(void)
{
    uint64_t now[N_CLOCKS];
    for (size_t i = 0; i < N_CLOCKS; i++)
        now[i] = read_clock(clocks[i]);
    return write(1, now, sizeof now) == sizeof now ? 0 : 1;
}

static int inside_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    return 0;
}

static int inside(const char *what)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } table[] = {{"clocks", inside_clocks}, {"descriptors", inside_descriptors}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, what))
            return table[i].run();
    return 99;
}

/* Namespaces */

static void check_namespace(const char *name)
{
    char path[64], script[64], ours[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    ssize_t n = readlink(path, ours, sizeof ours - 1);
    if (n < 0) {
        print_message("this kernel has no %s namespaces\n", name);
        return;
    }
    ours[n] = 0;
    snprintf(script, sizeof script, "readlink /proc/self/ns/%s", name);
    const char *theirs = run_script(script);
    assert_int_equal(strncmp(theirs, ours, strlen(name) + 2), 0); /* "net:[" */
    if (!strncmp(theirs, ours, strlen(ours)))
        fail_msg("the jail is in our namespace %s", ours);
}

static void test_user_namespace(void **state)
{
    (void)state;
    check_namespace("user");
    assert_string_equal(run_script("grep -c . /proc/self/uid_map; id -u; id -g"),
                        "1\n1000\n1000\n");
}

static void test_mount_namespace(void **state)
{
    (void)state;
    check_namespace("mnt");
}

static void test_pid_namespace(void **state)
{
    (void)state;
    check_namespace("pid");
}

static void test_network_namespace(void **state)
{
    (void)state;
    check_namespace("net");
    const char *text = run_script("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
                                  "wc -l < /proc/net/route");
    assert_true(!strcmp(text, "lo\n1\n") || !strcmp(text, "lo\n0\n"));
}

static void test_ipc_namespace(void **state)
{
    (void)state;
    check_namespace("ipc");
}

static void test_uts_namespace(void **state)
{
    (void)state;
    check_namespace("uts");
    assert_string_equal(run_script("uname -n"), "kgrade\n");
}

static void test_cgroup_namespace(void **state)
{
    (void)state;
    check_namespace("cgroup");
    /* Its root is where the jail is, so no name of ours is in it. */
    assert_string_equal(run_script("grep ^0: /proc/self/cgroup || echo 0::/"), "0::/\n");
}

/* Its clocks are the host's: those who measure compare them. */
static void test_time_namespace(void **state)
{
    (void)state;
    check_namespace("time");
    char text[sizeof(uint64_t) * N_CLOCKS + 1];
    uint64_t before[N_CLOCKS], then[N_CLOCKS];
    struct job job;
    job_init(&job, NULL);
    job_probe(&job, "clocks", NULL);
    for (size_t i = 0; i < N_CLOCKS; i++)
        before[i] = read_clock(clocks[i]);
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    memcpy(then, text, sizeof then);
    for (size_t i = 0; i < N_CLOCKS; i++)
        assert_in_range(then[i], before[i], read_clock(clocks[i]));
}

/* Files */

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
    assert_string_equal(
        text, access("/lib64", F_OK)
                  ? "/..:\nbin\ndev\netc\nlib\nproc\nsbin\ntmp\nusr\n\n/etc:\nld.so.cache\n"
                  : "/..:\nbin\ndev\netc\nlib\nlib64\nproc\nsbin\ntmp\nusr\n\n/etc:\n"
                    "ld.so.cache\n");
}

static void test_only_harmless_devices(void **state)
{
    (void)state;
    assert_string_equal(run_script("cd /dev; echo *; find /dev ! -type l ! -type d | sort"),
                        "fd full null random shm stderr stdin stdout urandom zero\n"
                        "/dev/full\n/dev/null\n/dev/random\n/dev/urandom\n/dev/zero\n");
}

/* The options of the mount at a place, as the jail sees them; "" if nothing is mounted there. */
static void mount_options(const char *mountinfo, const char *place, char *ret, size_t size)
{
    ret[0] = 0;
    for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line != 0) {
        char at[256], options[256];
        if (sscanf(line, "%*s %*s %*s %*s %255s %255s", at, options) == 2 && !strcmp(at, place))
            snprintf(ret, size, ",%s,", options);
    }
}

static void test_mounts_are_restricted(void **state)
{
    (void)state;
    static const struct {
        const char *place, *options[4];
    } wanted[] = {
        {"/", {"ro", "nosuid", "nodev"}},
        {"/usr", {"ro", "nosuid", "nodev"}},
        {"/etc/ld.so.cache", {"ro", "nosuid", "nodev"}},
        {"/out", {"rw", "nosuid", "nodev"}},
        {"/tmp", {"rw", "nosuid", "nodev"}},
        {"/dev/shm", {"rw", "nosuid", "nodev"}},
        {"/dev/null", {"nosuid", "noexec"}},
        {"/dev/urandom", {"nosuid", "noexec"}},
        {"/proc", {"nosuid", "nodev", "noexec"}},
    };
    static char text[16384];
    char folder[] = "/tmp/kgrade-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct job job;
    job_init(&job, "cat /proc/self/mountinfo");
    job_bind(&job, folder, "/out", true);
    struct jail_status status = run_job(&job, text, sizeof text);
    rmdir(folder);
    assert_exit(&status, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char options[300], word[32];
        mount_options(text, wanted[i].place, options, sizeof options);
        for (size_t k = 0; k < 4 && wanted[i].options[k]; k++) {
            snprintf(word, sizeof word, ",%s,", wanted[i].options[k]);
            if (!strstr(options, word))
                fail_msg("%s is mounted with \"%s\", not %s", wanted[i].place, options, word);
        }
    }
}

/* As far as it can, by writing: the jail's user owns the folder that is bound read-only. */
static void test_binds_are_read_only(void **state)
{
    (void)state;
    char folder[] = "/tmp/kgrade-test-XXXXXX", text[256];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    struct job job;
    job_init(&job, "for f in /in/x /x /usr/x /bin/x /dev/x /etc/x /proc/x; do "
                   "touch $f 2>/dev/null && echo $f; done; "
                   "touch /in/x 2>&1 | grep -c 'Read-only file system'");
    job_bind(&job, folder, "/in", false);
    run_job(&job, text, sizeof text);
    kgrade_error err;
    assert_int_equal(io_remove_tree(folder, &err), 0);
    assert_string_equal(text, "1\n");
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
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    if (geteuid() == 0) /* a user per jail */
        assert_in_range(st.st_uid, 64000, 64255);
    else
        assert_int_equal(st.st_uid, geteuid());
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

/* A link in a writable bind, left there by an earlier jail, must not make the next one touch the
 * host. */
static void test_links_do_not_lead_out(void **state)
{
    (void)state;
    char out[] = "/tmp/kgrade-test-XXXXXX", victim[] = "/tmp/kgrade-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(out));
    assert_non_null(mkdtemp(victim));
    snprintf(path, sizeof path, "%s/link", out);
    assert_int_equal(symlink(victim, path), 0);
    struct job job;
    job_init(&job, "true");
    job_bind(&job, out, "/out", true);
    job_bind(&job, "/etc/ld.so.cache", "/out/link/planted", false);
    run_job(&job, NULL, 0);
    assert_int_equal(rmdir(victim), 0); /* it is empty */
    kgrade_error err;
    assert_int_equal(io_remove_tree(out, &err), 0);
}

static void test_tmp_is_private(void **state)
{
    (void)state;
    char script[256];
    snprintf(script, sizeof script,
             "ls -A /tmp /dev/shm; touch /tmp/kgrade-%d /dev/shm/kgrade-%d && "
             "printf '#!/bin/sh\\necho runs\\n' > /tmp/r; chmod +x /tmp/r; /tmp/r",
             (int)getpid(), (int)getpid());
    for (int i = 0; i < 2; i++) /* the second does not find what the first has left */
        assert_string_equal(run_script(script), "/dev/shm:\n\n/tmp:\nruns\n");
    snprintf(script, sizeof script, "/tmp/kgrade-%d", (int)getpid());
    assert_int_equal(access(script, F_OK), -1);
    snprintf(script, sizeof script, "/dev/shm/kgrade-%d", (int)getpid());
    assert_int_equal(access(script, F_OK), -1);
}

/* Processes */

static void test_proc_shows_only_the_jail(void **state)
{
    (void)state;
    const char *text = run_script("ls /proc | grep -c '^[0-9]'");
    assert_in_range(strtol(text, NULL, 10), 2, 5);
}

static void test_first_process_is_out_of_reach(void **state)
{
    (void)state;
    assert_string_equal(run_script("cat /proc/1/environ /proc/1/maps 2>/dev/null | wc -c; "
                                   "ls /proc/1/fd 2>/dev/null | wc -l; "
                                   "kill -9 1; kill -TERM 1; kill -STOP 1; sleep 0.01; echo alive"),
                        "0\n0\nalive\n");
}

static void test_privileges(void **state)
{
    (void)state;
    assert_string_equal(run_script("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | "
                                   "tr '\\t' ' '"),
                        "CapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
                        "CapEff: 0000000000000000\nCapBnd: 0000000000000000\n"
                        "CapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n");
}

static void test_first_to_go_without_memory(void **state)
{
    (void)state;
    assert_string_equal(run_script("cat /proc/self/oom_score_adj"), "1000\n");
}

/* What is handed over */

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

/* The spawner ignores SIGPIPE, and the first process of a jail blocks SIGCHLD. */
static void test_signals_are_reset(void **state)
{
    (void)state;
    struct job job;
    char text[256];
    job_init(&job, NULL);
    job.argv[0] = "/usr/bin/grep";
    job.argv[1] = "-hE";
    job.argv[2] = "^Sig(Blk|Ign)";
    job.argv[3] = "/proc/self/status";
    run_job(&job, text, sizeof text);
    assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
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

int main(int argc, char **argv)
{
    if (argc > 1)
        return inside(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_namespace),
        cmocka_unit_test(test_mount_namespace),
        cmocka_unit_test(test_pid_namespace),
        cmocka_unit_test(test_network_namespace),
        cmocka_unit_test(test_ipc_namespace),
        cmocka_unit_test(test_uts_namespace),
        cmocka_unit_test(test_cgroup_namespace),
        cmocka_unit_test(test_time_namespace),
        cmocka_unit_test(test_host_files_are_absent),
        cmocka_unit_test(test_only_harmless_devices),
        cmocka_unit_test(test_mounts_are_restricted),
        cmocka_unit_test(test_binds_are_read_only),
        cmocka_unit_test(test_writable_bind),
        cmocka_unit_test(test_source_below_a_closed_folder),
        cmocka_unit_test(test_links_do_not_lead_out),
        cmocka_unit_test(test_tmp_is_private),
        cmocka_unit_test(test_proc_shows_only_the_jail),
        cmocka_unit_test(test_first_process_is_out_of_reach),
        cmocka_unit_test(test_privileges),
        cmocka_unit_test(test_first_to_go_without_memory),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_environment_and_arguments),
        cmocka_unit_test(test_signals_are_reset),
        cmocka_unit_test(test_standard_input),
    };
    if (!have_full_level())
        return SKIPPED;
    return cmocka_run_group_tests(tests, start_full, stop_group);
}
