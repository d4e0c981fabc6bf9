/* How jails at the full level end, whoever ends them, and that nothing of them is left. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <time.h>

/* The inside: works until it has used a fifth of a second of CPU time, says so, and goes on. */
static int inside_burn(void)
{
    while (clock() < CLOCKS_PER_SEC / 5)
        ;
    if (write(3, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void test_exit_code_and_output(void **state)
{
    (void)state;
    check_exit_code_and_output();
}

static void test_deadline(void **state)
{
    (void)state;
    check_deadline();
}

static void test_daemons_die(void **state)
{
    (void)state;
    check_daemons_die();
}

static void test_kill(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, "trap '' TERM HUP; sleep 100 & echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    wait_for_byte(pipe_end);

    struct jail_status status;
    kgrade_error err;
    assert_int_equal(jail_wait(jail, io_now() + SECONDS / 50, &status, &err), -1);
    assert_string_equal(err.code, "io_timeout");
    struct pollfd p = {.fd = jail_poll_fd(jail), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    jail_kill(jail);
    jail_kill(jail);
    status = wait_for(jail);
    assert_int_equal(status.end, JAIL_KILLED);
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_all_dead(pipe_end);
    jail_kill(jail);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED); /* the same again */
    jail_free(jail);
}

/* The first process is asked to kill and reap, so that what was used is counted. */
static void test_killed_jails_count_their_time(void **state)
{
    (void)state;
    struct job job;
    int pipe_end;
    job_init(&job, NULL);
    job_probe(&job, "burn", NULL);
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    wait_for_byte(pipe_end);
    jail_kill(jail);
    struct jail_status status = wait_for(jail);
    assert_int_equal(status.end, JAIL_KILLED);
    assert_true(status.cpu_ns > SECONDS / 6);
    assert_all_dead(pipe_end);
    jail_free(jail);
}

/* The first process of the only jail of a spawner.  It takes its name when the program runs already.
 */
static pid_t first_process_of(pid_t spawner)
{
    pid_t first = 0;
    for (uint64_t end = io_now() + PATIENCE; io_now() < end; usleep(1000))
        if (children_named(spawner, "kgrade-jail", &first, 1) == 1)
            return first;
    fail_msg("the jail's first process is not there");
    return 0;
}

/* A first process that does not do as it is asked is killed itself. */
static void test_stopped_first_process_is_killed(void **state)
{
    (void)state;
    struct sandbox *kept = box;
    pid_t spawner = start_another(SANDBOX_FULL);
    struct job job;
    int pipe_end;
    job_init(&job, "echo x >&3; sleep 100");
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    wait_for_byte(pipe_end);
    pid_t first = first_process_of(spawner);
    assert_int_equal(kill(first, SIGSTOP), 0);
    jail_kill(jail);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED);
    assert_all_dead(pipe_end);
    jail_free(jail);
    sandbox_stop(box);
    box = kept;
}

/* Only the program and what it starts hold what it is given. */
static void test_pipe_closes_while_the_jail_runs(void **state)
{
    (void)state;
    int pipe_end, out[2];
    struct job job;
    job_init(&job, "exec 3>&- 2>&- >&-; sleep 100");
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    job.spec.stdout_fd = job.spec.stderr_fd = out[1];
    struct jail *jail = spawn_with_pipe(&job, &pipe_end);
    close(out[1]);
    assert_all_die(pipe_end);
    assert_all_die(out[0]);
    struct jail_status status;
    kgrade_error err;
    assert_int_equal(jail_wait(jail, io_now(), &status, &err), -1);
    assert_string_equal(err.code, "io_timeout");
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
    assert_all_dead(pipe_end);
}

static void test_client_death(void **state)
{
    (void)state;
    check_client_death(SANDBOX_FULL);
}

static void test_spawner_death(void **state)
{
    (void)state;
    check_spawner_death(SANDBOX_FULL);
}

static void test_spawner_death_at_any_time(void **state)
{
    (void)state;
    check_spawner_death_at_any_time(SANDBOX_FULL, 20);
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
    wait_for_byte(pipe_end);
    sandbox_stop(box);
    box = kept;
    assert_all_dead(pipe_end);
    assert_int_equal(wait_for(jail).end, JAIL_KILLED);
    jail_free(jail);
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
    pid_t any;
    assert_int_equal(children_named(getpid(), "kgrade-jail", &any, 1), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return !strcmp(argv[1], "burn") ? inside_burn() : 99;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_code_and_output),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_daemons_die),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_killed_jails_count_their_time),
        cmocka_unit_test(test_stopped_first_process_is_killed),
        cmocka_unit_test(test_pipe_closes_while_the_jail_runs),
        cmocka_unit_test(test_free_kills),
        cmocka_unit_test(test_client_death),
        cmocka_unit_test(test_spawner_death),
        cmocka_unit_test(test_spawner_death_at_any_time),
        cmocka_unit_test(test_stop_kills),
        cmocka_unit_test(test_nothing_is_left),
    };
    if (!have_full_level())
        return SKIPPED;
    return cmocka_run_group_tests(tests, start_full, stop_group);
}
