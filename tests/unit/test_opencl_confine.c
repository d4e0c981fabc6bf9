/* What a confined process cannot do any more, in each of its threads, and what it still can. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/devices/opencl/confine.h"
#include "grader/devices/opencl/stray.h"
#include "sandbox/base/io.h"

/* Arguments that the kernel would refuse, so that a call that gets through does no harm. */
static const struct {
    const char *name;
    long number, x, y, z;
} refused[] = {
    {"clone", SYS_clone, 0xffffffff, 0, 0},
    {"clone3", SYS_clone3, 0, 0, 0},
    {"execve", SYS_execve, 0, 0, 0},
    {"execveat", SYS_execveat, -1, 0, 0},
#ifdef SYS_fork
    {"fork", SYS_fork, 0, 0, 0},
    {"vfork", SYS_vfork, 0, 0, 0},
#endif
    {"rt_sigaction", SYS_rt_sigaction, SIGSEGV, 0, 0},
    {"setitimer", SYS_setitimer, 99, 0, 0},
    {"timer_create", SYS_timer_create, 9999, 0, 0},
#ifdef SYS_alarm
    {"alarm", SYS_alarm, 0, 0, 0},
#endif
    {"seccomp", SYS_seccomp, 9999, 0, 0},
    {"fcntl F_SETSIG", SYS_fcntl, -1, F_SETSIG, SIGIO},
    {"fcntl F_SETOWN", SYS_fcntl, -1, F_SETOWN, 0},
    {"fcntl F_SETOWN_EX", SYS_fcntl, -1, F_SETOWN_EX, 0},
};
#define N_REFUSED (sizeof refused / sizeof *refused)

/* A thread that exists when the process is confined, as a runtime's do. */
static int asked[2], answered[2];
static size_t wanted;

static void *runtime_thread(void *nothing)
{
    char byte;
    if (read(asked[0], &byte, 1) == 1)
        syscall(refused[wanted].number, refused[wanted].x, refused[wanted].y, refused[wanted].z);
    if (write(answered[1], "x", 1) != 1)
        _exit(4);
    return nothing;
}

_Noreturn static void be_confined(size_t call, bool in_thread, bool confined)
{
    kgrade_error err;
    pthread_t thread;
    char byte;
    wanted = call;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || pipe(asked) || pipe(answered) ||
        pthread_create(&thread, NULL, runtime_thread, NULL))
        _exit(2);
    if (confined && confine(&err))
        _exit(3);
    if (!in_thread)
        syscall(refused[call].number, refused[call].x, refused[call].y, refused[call].z);
    else if (write(asked[1], "x", 1) != 1 || read(answered[0], &byte, 1) != 1)
        _exit(5);
    _exit(0);
}

static int status_of(size_t call, bool in_thread, bool confined)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_confined(call, in_thread, confined);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void each_call_ends_the_process_in_each_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_REFUSED; i++)
        for (int in_thread = 0; in_thread < 2; in_thread++) {
            int status = status_of(i, in_thread, true);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                fail_msg("%s: status %x", refused[i].name, (unsigned)status);
        }
}

/* So the test above fails without the filter. */
static void nothing_else_ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_REFUSED; i++) {
        if (strstr(refused[i].name, "fork")) /* which nothing makes fail */
            continue;
        int status = status_of(i, false, false);
        if (!WIFEXITED(status))
            fail_msg("%s: status %x", refused[i].name, (unsigned)status);
    }
}

_Noreturn static void work_on(void)
{
    kgrade_error err;
    char byte;
    int ends[2];
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || pipe(ends) || confine(&err))
        _exit(1);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _exit(memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ) || munmap(memory, 4096) ||
          write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1 || io_now() == 0 ||
          fcntl(ends[0], F_GETFL) < 0);
}

static void the_rest_goes_on(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        work_on();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void ignore(int signal)
{
    (void)signal;
}

static void crashes_stay_crashes(void **state)
{
    (void)state;
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            kgrade_error err;
            signal(crashes[i], ignore);
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || confine(&err))
                _exit(1);
            raise(crashes[i]);
            _exit(2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), crashes[i]);
    }
}

static void without_no_new_privs_it_says_so(void **state)
{
    (void)state;
    if (geteuid() == 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
        skip();
    kgrade_error err = {.code = ""};
    assert_int_equal(confine(&err), -1);
    assert_string_equal(err.code, "confine_failed");
}

/* --- work between replays --- */

static sem_t busy;
static atomic_bool over;
static atomic_int worker_id;
static clockid_t worker_clock;

static void *worker(void *nothing)
{
    worker_id = gettid();
    while (sem_wait(&busy) && errno == EINTR)
        ;
    while (!over)
        ;
    return nothing;
}

/* Until it waits, and so needs no time any more. */
static void let_it_sleep(void)
{
    char path[64], state = 0;
    while (state != 'S') {
        usleep(1000);
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", worker_id);
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (f)
            fclose(f);
    }
}

static uint64_t worker_ns(void)
{
    struct timespec t;
    clock_gettime(worker_clock, &t);
    return (uint64_t)t.tv_sec * IO_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* However busy the machine is. */
static void let_it_work(uint64_t more)
{
    uint64_t from = worker_ns();
    while (worker_ns() < from + more)
        usleep(100);
}

static void threads_at_work_between_replays_are_found(void **state)
{
    (void)state;
    static struct stray s, blind;
    kgrade_error err = {.code = ""};
    pthread_t thread;
    bool found;
    uint64_t ns;
    assert_int_equal(sem_init(&busy, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
    assert_int_equal(pthread_getcpuclockid(thread, &worker_clock), 0);
    assert_int_equal(stray_watch(&s, &err), 0);
    assert_true(s.n_clocks >= 1); /* a sanitizer has threads of its own */

    let_it_sleep();
    stray_expect_none(&s);
    assert_int_equal(stray_look(&s, &found, &ns, &err), 0);
    assert_false(found);
    sem_post(&busy);
    for (unsigned i = 1; i < STRAY_MAX; i++) {
        stray_expect_none(&s);
        let_it_work(STRAY_NS + 1);
        assert_int_equal(stray_look(&s, &found, &ns, &err), 0);
        assert_true(found);
        assert_true(ns > STRAY_NS);
    }
    stray_expect_none(&s);
    let_it_work(STRAY_NS + 1);
    assert_int_equal(stray_look(&s, &found, &ns, &err), -1);
    assert_string_equal(err.code, "replay_left_work");

    /* Not where nobody watches, nor after what may take time. */
    stray_expect_none(&blind);
    let_it_work(STRAY_NS + 1);
    assert_int_equal(stray_look(&blind, &found, &ns, &err), 0);
    assert_false(found);
    stray_forget(&s);
    assert_int_equal(stray_look(&s, &found, &ns, &err), 0);
    assert_false(found);

    over = true;
    pthread_join(thread, NULL);
}

static void own_work_is_none(void **state)
{
    (void)state;
    static struct stray s;
    kgrade_error err = {.code = ""};
    bool found;
    uint64_t ns;
    assert_int_equal(stray_watch(&s, &err), 0);
    stray_expect_none(&s);
    for (volatile unsigned i = 0; i < 10000000; i++)
        ;
    assert_int_equal(stray_look(&s, &found, &ns, &err), 0);
    assert_false(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_ends_the_process_in_each_thread),
        cmocka_unit_test(nothing_else_ends_it),
        cmocka_unit_test(the_rest_goes_on),
        cmocka_unit_test(crashes_stay_crashes),
        cmocka_unit_test(without_no_new_privs_it_says_so),
        cmocka_unit_test(own_work_is_none),
        cmocka_unit_test(threads_at_work_between_replays_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
