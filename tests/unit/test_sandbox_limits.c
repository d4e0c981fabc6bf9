/* The limits of a jail at the full level, each crossed.  Those of whole jails by cgroups are in
 * test_sandbox_cgroup.c. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <sys/mman.h>

/* The inside: this program is also what runs in some jails. */

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

static int inside_memory(int protection)
{
    void *p =
        mmap(NULL, 3ull << 30, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("%s\n", p != MAP_FAILED ? "got it" : "refused");
    return 0;
}

static int inside(const char *what)
{
    if (!strcmp(what, "forks"))
        return inside_forks();
    if (!strcmp(what, "reservation"))
        return inside_memory(PROT_NONE);
    return !strcmp(what, "data") ? inside_memory(PROT_READ | PROT_WRITE) : 99;
}

/* The outside */

static void test_tmp_size(void **state)
{
    (void)state;
    const char *text = run_script("cd /tmp; "
                                  "dd if=/dev/zero of=a bs=1M count=7 2>/dev/null && echo fits; "
                                  "dd if=/dev/zero of=b bs=1M count=7 2>/dev/null || echo full; "
                                  "rm a b");
    assert_string_equal(text, "fits\nfull\n");
}

static void test_shm_size(void **state)
{
    (void)state;
    const char *text = run_script("cd /dev/shm; "
                                  "dd if=/dev/zero of=a bs=1M count=7 2>/dev/null && echo fits; "
                                  "dd if=/dev/zero of=b bs=1M count=7 2>/dev/null || echo full; "
                                  "rm a b");
    assert_string_equal(text, "fits\nfull\n");
}

static void test_tmp_inodes(void **state)
{
    (void)state;
    const char *text = run_script("for d in /tmp /dev/shm; do cd $d; i=0; "
                                  "while [ $i -lt 3000 ] && true > $i; do i=$((i+1)); done "
                                  "2>/dev/null; ls | wc -l; done");
    char *rest;
    assert_in_range(strtol(text, &rest, 10), 1000, 2048); /* 8 MiB / 4096 */
    assert_in_range(strtol(rest, NULL, 10), 1000, 2048);
}

static void test_processes(void **state)
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
    check_fork_bomb();
}

static void assert_memory(struct job *job, const char *what, const char *answer)
{
    char text[64];
    job_probe(job, what, NULL);
    run_job(job, text, sizeof text);
    assert_string_equal(text, answer);
}

static void test_address_space(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: a sanitizer needs terabytes of address space\n");
    skip();
#else
    struct job job;
    job_init(&job, NULL);
    assert_memory(&job, "reservation", "got it\n");
    job.spec.limits.memory_bytes = 1ull << 30;
    assert_memory(&job, "reservation", "refused\n");
#endif
}

/* What is private and can be written counts, a reservation does not. */
static void test_data(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: a sanitizer needs terabytes of memory that it can write\n");
    skip();
#else
    struct job job;
    job_init(&job, NULL);
    assert_memory(&job, "data", "got it\n");
    job.spec.limits.data_bytes = 1ull << 30;
    assert_memory(&job, "data", "refused\n");
    assert_memory(&job, "reservation", "got it\n");
#endif
}

static void test_file_size(void **state)
{
    (void)state;
    char text[512];
    struct job job;
    job_init(&job, "dd if=/dev/zero of=f bs=4096 count=1 2>/dev/null && echo written; "
                   "dd if=/dev/zero of=f bs=4096 count=10 2>/dev/null; wc -c < f");
    job.spec.limits.file_bytes = 8192;
    run_job(&job, text, sizeof text);
    assert_non_null(strstr(text, "written\n"));
    assert_non_null(strstr(text, "\n8192\n"));
}

static void test_cpu_time(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "while :; do :; done");
    job.spec.limits.cpu_seconds = 1;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGXCPU);
    /* One that does not listen is killed a second later. */
    job_init(&job, "trap '' XCPU; while :; do :; done");
    job.spec.limits.cpu_seconds = 1;
    status = run_job(&job, NULL, 0);
    assert_int_equal(status.end, JAIL_SIGNALLED);
    assert_int_equal(status.code, SIGKILL);
}

/* Every resource limit as the kernel has it, soft and hard. */
static void test_every_resource_limit(void **state)
{
    (void)state;
    static const struct {
        const char *name, *soft, *hard;
    } wanted[] = {
        {"Max cpu time", "9", "10"},
        {"Max file size", "12345678", "12345678"},
        {"Max stack size", "8388608", "67108864"},
        {"Max core file size", "0", "0"},
        {"Max processes", "18", "18"}, /* the first process counts, too */
        {"Max open files", "20", "20"},
        {"Max address space", "34359738368", "34359738368"},
        {"Max data size", "17179869184", "17179869184"},
        {"Max msgqueue size", "0", "0"},
        {"Max realtime priority", "0", "0"},
    };
    char text[4096];
    struct job job;
    job_init(&job, NULL);
    job.argv[0] = "/usr/bin/cat";
    job.argv[1] = "/proc/self/limits";
    job.argv[2] = NULL;
    job.spec.limits.cpu_seconds = 9;
    job.spec.limits.file_bytes = 12345678;
    job.spec.limits.processes = 17;
    job.spec.limits.open_files = 20;
    job.spec.limits.memory_bytes = 32ull << 30;
    job.spec.limits.data_bytes = 16ull << 30;
    struct jail_status status = run_job(&job, text, sizeof text);
    assert_exit(&status, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char soft[32] = "", hard[32] = "";
        const char *line = strstr(text, wanted[i].name);
        assert_non_null(line);
        sscanf(line + strlen(wanted[i].name), "%31s %31s", soft, hard);
        if (strcmp(soft, wanted[i].soft) || strcmp(hard, wanted[i].hard))
            fail_msg("%s is %s, at most %s", wanted[i].name, soft, hard);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return inside(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tmp_size),   cmocka_unit_test(test_shm_size),
        cmocka_unit_test(test_tmp_inodes), cmocka_unit_test(test_processes),
        cmocka_unit_test(test_fork_bomb),  cmocka_unit_test(test_address_space),
        cmocka_unit_test(test_data),       cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_cpu_time),   cmocka_unit_test(test_every_resource_limit),
    };
    if (!have_full_level())
        return SKIPPED;
    return cmocka_run_group_tests(tests, start_full, stop_group);
}
