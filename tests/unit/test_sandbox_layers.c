/*
 * Layers of a full jail that others stand behind: if one of them were missing, little that a jail does would show it, so
 * each is looked at by itself.
 */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sandbox/jail.h"

#define FIRST_PROCESS "kgrade-jail"
#define SPAWNER "kgrade-spawner"

static int start_group(void **state)
{
    (void)state;
    return start_group_at(SANDBOX_FULL);
}

/* The owner of a file that the jail makes. */
static uid_t user_of_jail(struct job *job, const char *folder)
{
    char path[128];
    struct stat st;
    struct jail_status status = run_job(job, NULL, 0);
    assert_exit(&status, 0);
    snprintf(path, sizeof path, "%s/made", folder);
    assert_int_equal(stat(path, &st), 0);
    return st.st_uid;
}

static void test_every_jail_has_a_user_of_its_own(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root has users to give away\n");
        skip();
    }
    struct job waiting, job[2];
    uid_t users[2];
    job_init(&waiting, "exec sleep 100");
    struct jail *jail = NULL;
    for (int i = 0; i < 2; i++) {
        char folder[] = "/tmp/kgrade-test-XXXXXX";
        assert_non_null(mkdtemp(folder));
        job_init(&job[i], "echo > /out/made");
        job_bind(&job[i], folder, "/out", true);
        users[i] = user_of_jail(&job[i], folder);
        assert_int_equal(io_remove_tree(folder, NULL), 0);
        if (!jail)
            jail = spawn(&waiting); /* takes the first one's place */
    }
    jail_free(jail);
    assert_in_range(users[0], JAIL_UID_BASE, JAIL_UID_BASE + JAIL_MAX_RUNNING - 1);
    assert_in_range(users[1], JAIL_UID_BASE, JAIL_UID_BASE + JAIL_MAX_RUNNING - 1);
    assert_int_not_equal(users[0], users[1]);
}

/* The newest process with this name and this parent; 0: none. */
static pid_t find_process(const char *name, pid_t parent)
{
    char path[64], line[300];
    pid_t found = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char comm[64] = "";
        int its_parent = 0;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof line, f) &&
            sscanf(line, "%*d (%60[^)]) %*c %d", comm, &its_parent) == 2 && its_parent == parent &&
            !strcmp(comm, name))
            found = (pid_t)atoi(e->d_name);
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* A jail of a sandbox of its own that has told that it runs, and lives until it is killed. */
struct lone {
    struct sandbox *kept;
    struct jail *jail;
    int pipe;
    pid_t spawner, first;
};

static void lone_start(struct lone *l)
{
    int ends[2];
    struct job job;
    char byte;
    l->kept = box;
    box = start_sandbox(SANDBOX_FULL);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    job_init(&job, "echo x >&3; exec sleep 100");
    job.spec.fds = &ends[1];
    job.spec.n_fds = 1;
    l->jail = spawn(&job);
    l->pipe = ends[0];
    close(ends[1]);
    assert_int_equal(read(l->pipe, &byte, 1), 1);
    l->spawner = find_process(SPAWNER, getpid());
    assert_true(l->spawner > 0);
    /* It takes its name after the program has begun. */
    for (uint64_t end = io_now() + 20 * SECONDS; io_now() < end; usleep(1000))
        if ((l->first = find_process(FIRST_PROCESS, l->spawner)))
            return;
    fail_msg("the jail's first process is not there");
}

static void lone_end(struct lone *l)
{
    close(l->pipe);
    jail_free(l->jail);
    sandbox_stop(box);
    box = l->kept;
}

/* One that is held cannot see its control pipe close, and nothing but SIGKILL lets it go on: it is the death signal that
 * must end it. */
static void test_held_first_process_dies_with_the_spawner(void **state)
{
    (void)state;
    struct lone l;
    lone_start(&l);
    if (ptrace(PTRACE_SEIZE, l.first, NULL, NULL) ||
        ptrace(PTRACE_INTERRUPT, l.first, NULL, NULL)) {
        lone_end(&l);
        print_message("skipped: only root may hold the first process\n");
        skip();
    }
    int status = 0;
    assert_int_equal(waitpid(l.first, &status, __WALL), l.first);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(kill(l.spawner, SIGKILL), 0);
    bool dead = drain(l.pipe, NULL, 0, io_now() + 20 * SECONDS);
    if (!dead)
        kill(l.first, SIGKILL);
    waitpid(l.first, &status, __WALL);
    lone_end(&l);
    assert_true(dead);
}

/* -1: only root may look. */
static int count_held(pid_t pid)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void test_first_process_keeps_three_descriptors(void **state)
{
    (void)state;
    struct lone l;
    lone_start(&l);
    int n = count_held(l.first);
    for (uint64_t end = io_now() + 20 * SECONDS; n > 3 && io_now() < end; usleep(1000))
        n = count_held(l.first); /* it lets go of the others after it has its name */
    lone_end(&l);
    if (n < 0) {
        print_message("skipped: only root sees what the first process holds\n");
        skip();
    }
    assert_int_equal(n, 3); /* control, report, deaths */
}

/* A program loses its capabilities by exec alone; the first process, which has had them, runs on. */
static void test_first_process_has_no_privileges(void **state)
{
    (void)state;
    assert_string_equal(run_script("grep -E '^(Cap...|NoNewPrivs):' /proc/1/status | tr '\\t' ' '"),
                        "CapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
                        "CapEff: 0000000000000000\nCapBnd: 0000000000000000\n"
                        "CapAmb: 0000000000000000\nNoNewPrivs: 1\n");
}

/* The service may have them. */
static void test_realtime_priorities_are_taken_away(void **state)
{
    (void)state;
    struct rlimit before, some = {.rlim_cur = 10, .rlim_max = 10};
    assert_int_equal(getrlimit(RLIMIT_RTPRIO, &before), 0);
    if (setrlimit(RLIMIT_RTPRIO, &some)) {
        print_message("skipped: only root may have priorities to lose\n");
        skip();
    }
    struct sandbox *kept = box;
    box = start_sandbox(SANDBOX_FULL);
    char text[256];
    struct job job;
    job_init(&job, "grep '^Max realtime priority' /proc/self/limits | tr -s ' '");
    run_job(&job, text, sizeof text);
    sandbox_stop(box);
    box = kept;
    setrlimit(RLIMIT_RTPRIO, &before);
    assert_string_equal(text, "Max realtime priority 0 0 \n");
}

/* The permissions of what a link names would mostly protect it, too. */
static void test_links_stay_inside_where_all_may_write(void **state)
{
    (void)state;
    char out[] = "/tmp/kgrade-test-XXXXXX", victim[] = "/tmp/kgrade-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(out));
    assert_non_null(mkdtemp(victim));
    assert_int_equal(chmod(victim, 0777), 0);
    snprintf(path, sizeof path, "%s/link", out);
    assert_int_equal(symlink(victim, path), 0);
    struct job job;
    job_init(&job, "true");
    job_bind(&job, out, "/out", true);
    job_bind(&job, "/etc/ld.so.cache", "/out/link/planted", false);
    run_job(&job, NULL, 0);
    int empty = rmdir(victim);
    io_remove_tree(victim, NULL);
    io_remove_tree(out, NULL);
    assert_int_equal(empty, 0);
}

static void test_what_the_client_left_open_is_closed(void **state)
{
    (void)state;
    char text[256];
    int left[20];
    for (size_t i = 0; i < 20; i++)
        left[i] = dup(0); /* without O_CLOEXEC */
    struct sandbox *kept = box;
    box = start_sandbox(SANDBOX_FULL);
    struct job job;
    job_init(&job, "ls /proc/self/fd");
    struct jail_status status = run_job(&job, text, sizeof text);
    sandbox_stop(box);
    box = kept;
    for (size_t i = 0; i < 20; i++)
        close(left[i]);
    assert_exit(&status, 0);
    assert_string_equal(text, "0\n1\n2\n3\n"); /* 3 is the listing itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_jail_has_a_user_of_its_own),
        cmocka_unit_test(test_held_first_process_dies_with_the_spawner),
        cmocka_unit_test(test_first_process_keeps_three_descriptors),
        cmocka_unit_test(test_first_process_has_no_privileges),
        cmocka_unit_test(test_realtime_priorities_are_taken_away),
        cmocka_unit_test(test_links_stay_inside_where_all_may_write),
        cmocka_unit_test(test_what_the_client_left_open_is_closed),
    };
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    sandbox_probe_all(probes, &level);
    if (level != SANDBOX_FULL) {
        print_message("skipped: this machine does not give the full level\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, start_group, stop_group);
}
