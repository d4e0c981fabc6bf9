/*
 * What no filter may allow, and what each must, named one by one whatever the table of calls says.
 * Each call is made with arguments that the kernel refuses, once without and once with the filter,
 * in processes of their own.  Blocked and reached differ in errno, which proves that it is the
 * filter that answers.  That the filters do what the table says, test_sandbox_calls.c shows.
 */
#define _GNU_SOURCE
#include "filter_help.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define BAD_POINTER 1L
#define BUILD (1u << JAIL_BUILD)
#define REPLAY (1u << JAIL_REPLAY)
#define JUDGE (1u << JAIL_JUDGE)
#define ALL 15u

static const struct attempt {
    const char *name;
    long number; /* -1: not on this architecture */
    long args[6];
    unsigned policies; /* that block it, with EPERM or ENOSYS */
} attempts[] = {
    {"clone3", 435, {0, 0}, ALL},
    {"unshare", SYS_unshare, {CLONE_NEWUSER | CLONE_VM}, ALL},
    {"setns", SYS_setns, {-1, 0}, ALL},
    {"mount", SYS_mount, {0, BAD_POINTER, BAD_POINTER}, ALL},
    {"umount2", SYS_umount2, {BAD_POINTER, -1}, ALL},
    {"pivot_root", SYS_pivot_root, {BAD_POINTER, BAD_POINTER}, ALL},
    {"chroot", SYS_chroot, {BAD_POINTER}, ALL},
    {"move_mount", 429, {-1, BAD_POINTER, -1, BAD_POINTER, 0}, ALL},
    {"open_tree", 428, {-1, BAD_POINTER, 0}, ALL},
    {"fsopen", 430, {BAD_POINTER, 0}, ALL},
    {"fsconfig", 431, {-1, 0}, ALL},
    {"fsmount", 432, {-1, 0}, ALL},
    {"fspick", 433, {-1, BAD_POINTER, 0}, ALL},
    {"mount_setattr", 442, {-1, BAD_POINTER, 0}, ALL},
    {"open_tree_attr", 467, {-1, BAD_POINTER, 0}, ALL},
    {"ptrace", SYS_ptrace, {-1, 0}, ALL},
    {"process_vm_readv", SYS_process_vm_readv, {0, 0, 0, 0, 0, 1}, ALL},
    {"process_vm_writev", SYS_process_vm_writev, {0, 0, 0, 0, 0, 1}, ALL},
    {"pidfd_getfd", 438, {-1, 0}, ALL},
    {"process_madvise", 440, {-1, 0}, ALL},
    {"process_mrelease", 448, {-1, 0}, ALL},
    {"kcmp", SYS_kcmp, {-1, -1}, ALL},
    {"userfaultfd", SYS_userfaultfd, {0x7fffffff}, ALL},
    {"io_uring_setup", 425, {1, BAD_POINTER}, ALL},
    {"io_uring_enter", 426, {-1}, ALL},
    {"io_uring_register", 427, {-1}, ALL},
    {"bpf", SYS_bpf, {9999, BAD_POINTER, 8}, ALL},
    {"perf_event_open", SYS_perf_event_open, {BAD_POINTER, 0, -1, -1, 0}, ALL},
    {"fanotify_init", SYS_fanotify_init, {0x7fffffff}, ALL},
    {"vmsplice", SYS_vmsplice, {-1, 0, 0, 0}, ALL},
    {"memfd_secret", 447, {0x7fffffff}, ALL},
    {"add_key", SYS_add_key, {BAD_POINTER, 0}, ALL},
    {"request_key", SYS_request_key, {BAD_POINTER, 0}, ALL},
    {"keyctl", SYS_keyctl, {9999}, ALL},
    {"name_to_handle_at", SYS_name_to_handle_at, {-1, BAD_POINTER, 0, 0, -1}, ALL},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, BAD_POINTER, 0}, ALL},
    {"seccomp", SYS_seccomp, {9999, 0, 0}, ALL},
    {"splice", SYS_splice, {-1, 0, -1, 0, 1, 0}, ALL},
    {"tee", SYS_tee, {-1, -1, 1, 0}, ALL},
    {"landlock_create_ruleset", 444, {BAD_POINTER, 8, 0}, ALL},
    {"pidfd_open", 434, {-1, 0}, ALL},
    {"pidfd_send_signal", 424, {-1, 0, 0, 0}, ALL},
    {"io_setup", SYS_io_setup, {0, BAD_POINTER}, ALL},
    {"inotify_init1", SYS_inotify_init1, {-1}, ALL},
    {"timer_create", SYS_timer_create, {9999, 0, 0}, ALL},
    {"migrate_pages", SYS_migrate_pages, {0x7fffffff, 0, 0, 0}, ALL},
    {"move_pages", SYS_move_pages, {0x7fffffff, 0, 0, 0, 0, -1}, ALL},
    {"membarrier", SYS_membarrier, {-1, -1, 0}, ALL},
    {"shmget", SYS_shmget, {0x6b677264, 1, 0}, ALL},
    {"semget", SYS_semget, {0x6b677264, 1, 0}, ALL},
    {"msgget", SYS_msgget, {0x6b677264, 0}, ALL},
    {"mq_open", SYS_mq_open, {BAD_POINTER, 0, 0, 0}, ALL},
    {"mknodat", SYS_mknodat, {-1, BAD_POINTER, 0, 0}, ALL},
    {"fchown", SYS_fchown, {-1, 0, 0}, ALL},
    {"setxattr", SYS_setxattr, {BAD_POINTER, BAD_POINTER, 0, 0, 0}, ALL},
    {"setgroups", SYS_setgroups, {-1, 0}, ALL},
    {"capset", SYS_capset, {BAD_POINTER, 0}, ALL},
    {"kexec_load", SYS_kexec_load, {0, 9999, 0, -1}, ALL},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, -1}, ALL},
    {"init_module", SYS_init_module, {BAD_POINTER, 1, BAD_POINTER}, ALL},
    {"finit_module", SYS_finit_module, {-1, BAD_POINTER, 0}, ALL},
    {"delete_module", SYS_delete_module, {BAD_POINTER, 0}, ALL},
    {"reboot", SYS_reboot, {0, 0, 0}, ALL},
    {"swapon", SYS_swapon, {BAD_POINTER, 0}, ALL},
    {"swapoff", SYS_swapoff, {BAD_POINTER}, ALL},
    {"acct", SYS_acct, {BAD_POINTER}, ALL},
    {"quotactl", SYS_quotactl, {-1, BAD_POINTER, 0, 0}, ALL},
    {"quotactl_fd", 443, {-1, -1, 0, 0}, ALL},
    {"syslog", SYS_syslog, {99, 0, 0}, ALL},
    {"settimeofday", SYS_settimeofday, {BAD_POINTER, 0}, ALL},
    {"clock_settime", SYS_clock_settime, {9999, 0}, ALL},
    {"clock_adjtime", SYS_clock_adjtime, {9999, BAD_POINTER}, ALL},
    {"adjtimex", SYS_adjtimex, {BAD_POINTER}, ALL},
    {"sethostname", SYS_sethostname, {BAD_POINTER, -1}, ALL},
    {"setdomainname", SYS_setdomainname, {BAD_POINTER, -1}, ALL},
#ifdef SYS_iopl
    {"iopl", SYS_iopl, {99}, ALL},
    {"ioperm", SYS_ioperm, {-1, 1, 1}, ALL},
#endif
    {"clone(NEWNS)", SYS_clone, {CLONE_NEWNS | CLONE_SIGHAND}, ALL},
    {"clone(NEWUSER)", SYS_clone, {CLONE_NEWUSER | CLONE_SIGHAND}, ALL},
    {"clone(NEWPID)", SYS_clone, {CLONE_NEWPID | CLONE_SIGHAND}, ALL},
    {"clone(NEWNET)", SYS_clone, {CLONE_NEWNET | CLONE_SIGHAND}, ALL},
    {"clone(NEWIPC)", SYS_clone, {CLONE_NEWIPC | CLONE_SIGHAND}, ALL},
    {"clone(NEWUTS)", SYS_clone, {CLONE_NEWUTS | CLONE_SIGHAND}, ALL},
    {"clone(NEWCGROUP)", SYS_clone, {CLONE_NEWCGROUP | CLONE_SIGHAND}, ALL},
    {"clone(NEWUSER, SIGCHLD)", SYS_clone, {CLONE_NEWUSER | CLONE_SIGHAND | SIGCHLD}, ALL},
    {"ioctl(TIOCSTI)", SYS_ioctl, {-1, TIOCSTI, 0}, ALL},
    {"ioctl(TIOCSTI + high half)", SYS_ioctl, {-1, TIOCSTI | 1L << 32, 0}, ALL},
    {"ioctl(TIOCLINUX)", SYS_ioctl, {-1, TIOCLINUX, 0}, ALL},
    {"personality", SYS_personality, {ADDR_NO_RANDOMIZE}, ALL},
    {"socket(INET)", SYS_socket, {AF_INET, 99, 0}, ALL},
    {"socket(INET6)", SYS_socket, {AF_INET6, 99, 0}, ALL},
    {"socket(NETLINK)", SYS_socket, {AF_NETLINK, 99, 0}, ALL},
    {"socket(PACKET)", SYS_socket, {AF_PACKET, 99, 0}, ALL},
    {"socket(VSOCK)", SYS_socket, {AF_VSOCK, 99, 0}, ALL},
    {"socket(ALG)", SYS_socket, {AF_ALG, 99, 0}, ALL},
    {"socket(INET + high half)", SYS_socket, {AF_INET | 1L << 32, 99, 0}, ALL},
    {"socketpair(TIPC)", SYS_socketpair, {30, 99, 0, 0}, ALL},
    {"ioctl(TIOCCONS)", SYS_ioctl, {-1, TIOCCONS, 0}, ALL},
    {"ioctl(TIOCSETD)", SYS_ioctl, {-1, TIOCSETD, 0}, ALL},
    {"prctl(SECCOMP)", SYS_prctl, {PR_SET_SECCOMP, 99, 0}, ALL},
    {"prctl(MM)", SYS_prctl, {PR_SET_MM, 99, 0, 0, 1}, ALL},
    {"prctl(SUBREAPER)", SYS_prctl, {PR_SET_CHILD_SUBREAPER, 0}, ALL},
    {"prctl(DUMPABLE)", SYS_prctl, {PR_SET_DUMPABLE, 99}, ALL},
    {"prlimit64(another)", SYS_prlimit64, {0x7fffffff, 0, 0, 0}, ALL},
    /* Only a jail that holds a driver or the candidate's host code may; and the judge starts
     * nothing, makes nothing and sends no signals but to itself. */
    {"socket(UNIX)", SYS_socket, {AF_UNIX, 99, 0}, BUILD | JUDGE},
    {"socketpair(UNIX)", SYS_socketpair, {AF_UNIX, 99, 0, 0}, BUILD | JUDGE},
    {"connect", SYS_connect, {-1, 0, 0}, BUILD | JUDGE},
    {"memfd_create", SYS_memfd_create, {BAD_POINTER, 0}, BUILD | JUDGE},
    {"mbind", SYS_mbind, {BAD_POINTER, 0, -1, 0, 0, -1}, BUILD | JUDGE},
    {"sched_setaffinity", SYS_sched_setaffinity, {-1, 0, 0}, BUILD | JUDGE},
    {"ioctl(driver)", SYS_ioctl, {-1, 0xc020462a, 0}, BUILD | JUDGE},
    {"linkat", SYS_linkat, {-1, BAD_POINTER, -1, BAD_POINTER, 0}, BUILD | JUDGE},
    {"setresuid", SYS_setresuid, {-2, -2, -2}, REPLAY | JUDGE},
    {"clone", SYS_clone, {CLONE_THREAD}, JUDGE},
    {"wait4", SYS_wait4, {-1, 0, 0x7fffffff, 0}, JUDGE},
    {"kill", SYS_kill, {0x7fffffff, 0}, JUDGE},
    {"pipe2", SYS_pipe2, {BAD_POINTER, 0x7fffffff}, JUDGE},
    {"unlinkat", SYS_unlinkat, {-1, BAD_POINTER, 0}, JUDGE},
    {"prctl(NAME)", SYS_prctl, {PR_SET_NAME, BAD_POINTER}, JUDGE},
    /* What must stay possible everywhere. */
    {"personality query", SYS_personality, {0xffffffff}, 0},
    {"getpid", SYS_getpid, {0}, 0},
    {"openat", SYS_openat, {-1, BAD_POINTER, 0}, 0},
    {"mprotect", SYS_mprotect, {BAD_POINTER, 1, PROT_READ | PROT_EXEC}, 0},
    {"recvmsg", SYS_recvmsg, {-1, BAD_POINTER, 0}, BUILD},
    {"ioctl(TCGETS)", SYS_ioctl, {-1, 0x5401, 0}, 0},
    {"prlimit64", SYS_prlimit64, {0, 9999, 0, 0}, 0},
    {"faccessat2", 439, {-1, BAD_POINTER, -1, -1}, 0},
};

/* 0 when the call succeeds, else errno; -1 when the process was killed. */
static int attempt(const struct attempt *a, const struct filter *filter)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setsid(); /* no terminal that anything could reach */
        if (filter && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(filter)))
            _exit(99);
        const long *x = a->args;
        pid_t self = (pid_t)syscall(SYS_getpid);
        long r = syscall(a->number, x[0], x[1], x[2], x[3], x[4], x[5]);
        int error = r < 0 ? errno : 0;
        if ((pid_t)syscall(SYS_getpid) != self)
            _exit(0); /* a clone that should not have been */
        ssize_t n = write(ends[1], &error, sizeof error);
        _exit(n == sizeof error ? 0 : 98);
    }
    close(ends[1]);
    int error, status;
    bool told = read(ends[0], &error, sizeof error) == sizeof error;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return told ? error : -1;
}

static bool is_refusal(int answer)
{
    return answer == EPERM || answer == ENOSYS;
}

static void test_each_rule(void **state)
{
    (void)state;
    size_t wrong = 0, unclear = 0;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        const struct attempt *a = &attempts[i];
        int free_answer = attempt(a, NULL);
        for (unsigned p = 0; p <= JAIL_JUDGE; p++) {
            int answer = attempt(a, &filters[p]);
            bool blocked = a->policies >> p & 1;
            if (blocked ? !is_refusal(answer) : answer != free_answer) {
                print_message("%s under policy %u: %d, without filter: %d\n", a->name, p, answer,
                              free_answer);
                wrong++;
            }
        }
        if (a->policies && is_refusal(free_answer)) {
            /* Without privileges the kernel may give the same answer by itself. */
            print_message("%s: this user and kernel cannot tell\n", a->name);
            unclear++;
        }
    }
    print_message("%zu calls, %zu that this machine cannot tell\n",
                  sizeof attempts / sizeof *attempts, unclear);
    assert_int_equal(wrong, 0);
    if (geteuid() == 0)
        assert_in_range(unclear, 0, 8);
}

/* The C library falls back on ENOSYS alone; `kgrade doctor` takes EPERM for a filter that acts. */
static void test_answers(void **state)
{
    (void)state;
    static const struct attempt absent = {"clone3", 435, {0, 0}, ALL},
                                newer = {"unknown", 600, {0}, ALL},
                                forbidden = {"unshare", SYS_unshare, {0}, ALL};
    for (int p = 0; p <= JAIL_JUDGE; p++) {
        assert_int_equal(attempt(&absent, &filters[p]), ENOSYS);
        assert_int_equal(attempt(&newer, &filters[p]), ENOSYS);
        assert_int_equal(attempt(&forbidden, &filters[p]), EPERM);
    }
}

static void *thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static void test_threads_and_processes_work(void **state)
{
    (void)state;
    for (int p = 0; p < JAIL_JUDGE; p++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(&filters[p]))
                _exit(1);
            int ran = 0;
            pthread_t t;
            if (pthread_create(&t, NULL, thread, &ran) || pthread_join(t, NULL) || !ran)
                _exit(2);
            int status;
            pid_t child = fork();
            if (child == 0)
                _exit(7);
            if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
                _exit(3);
            _exit(system("exit 5") == 5 << 8 ? 0 : 4);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void test_judge_works_alone(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        int ends[2], fd = -1;
        if (pipe(ends) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            filter_load(&filters[JAIL_JUDGE]))
            _exit(1);
        char *much = malloc(64 << 20), byte = 1;
        if (!much || write(ends[1], &byte, 1) != 1 || read(ends[0], much, 1) != 1)
            _exit(2);
        fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, much, 4) != 4 || memcmp(much, "\177ELF", 4) || close(fd))
            _exit(3);
        if (fork() != -1)
            _exit(4);
        pthread_t t;
        int ran;
        if (pthread_create(&t, NULL, thread, &ran) == 0)
            _exit(5);
        free(much);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#ifdef __x86_64__
/* Both other ABIs of the machine would number the same calls differently. */
static int foreign_call(enum jail_policy policy, bool x32)
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSYS, SIG_DFL); /* a sanitizer may have its own idea */
        signal(SIGSEGV, SIG_DFL);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(&filters[policy]))
            _exit(99);
        if (x32) {
            syscall(0x40000000 | SYS_getpid);
        } else {
            long r = 20; /* getpid */
            __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
        }
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void test_foreign_abi_kills(void **state)
{
    (void)state;
    for (int p = 0; p <= JAIL_JUDGE; p++) {
        assert_int_equal(foreign_call((enum jail_policy)p, true), SIGSYS);
        int r = foreign_call((enum jail_policy)p, false);
        if (r == SIGSEGV)
            print_message("skipped: this kernel has no 32-bit calls\n");
        else
            assert_int_equal(r, SIGSYS);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_rule),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_threads_and_processes_work),
        cmocka_unit_test(test_judge_works_alone),
#ifdef __x86_64__
        cmocka_unit_test(test_foreign_abi_kills),
#endif
    };
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
