/*
 * Every rule of the system-call filters, tried for real: each call is made with arguments that the
 * kernel refuses, once without and once with the filter, in processes of their own.  Blocked and
 * reached differ in errno, which proves that it is the filter that answers.
 */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sandbox/filter.h"

#define BAD_POINTER 1L
#define ALL 15u
#define JUDGE (1u << JAIL_JUDGE)

static struct filter filters[JAIL_JUDGE + 1];

static const struct attempt {
    const char *name;
    long number; /* -1: not on this architecture */
    long args[6];
    unsigned policies; /* that block it */
    int answer;
} attempts[] = {
    {"clone3", 435, {0, 0}, ALL, ENOSYS},
    {"unshare", SYS_unshare, {CLONE_NEWUSER | CLONE_VM}, ALL, EPERM},
    {"setns", SYS_setns, {-1, 0}, ALL, EPERM},
    {"mount", SYS_mount, {0, BAD_POINTER, BAD_POINTER}, ALL, EPERM},
    {"umount2", SYS_umount2, {BAD_POINTER, -1}, ALL, EPERM},
    {"pivot_root", SYS_pivot_root, {BAD_POINTER, BAD_POINTER}, ALL, EPERM},
    {"chroot", SYS_chroot, {BAD_POINTER}, ALL, EPERM},
    {"move_mount", 429, {-1, BAD_POINTER, -1, BAD_POINTER, 0}, ALL, EPERM},
    {"open_tree", 428, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"fsopen", 430, {BAD_POINTER, 0}, ALL, EPERM},
    {"fsconfig", 431, {-1, 0}, ALL, EPERM},
    {"fsmount", 432, {-1, 0}, ALL, EPERM},
    {"fspick", 433, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"mount_setattr", 442, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"open_tree_attr", 467, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"ptrace", SYS_ptrace, {-1, 0}, ALL, EPERM},
    {"process_vm_readv", SYS_process_vm_readv, {0, 0, 0, 0, 0, 1}, ALL, EPERM},
    {"process_vm_writev", SYS_process_vm_writev, {0, 0, 0, 0, 0, 1}, ALL, EPERM},
    {"pidfd_getfd", 438, {-1, 0}, ALL, EPERM},
    {"process_madvise", 440, {-1, 0}, ALL, EPERM},
    {"process_mrelease", 448, {-1, 0}, ALL, EPERM},
    {"kcmp", SYS_kcmp, {-1, -1}, ALL, EPERM},
    {"userfaultfd", SYS_userfaultfd, {0x7fffffff}, ALL, EPERM},
    {"io_uring_setup", 425, {1, BAD_POINTER}, ALL, EPERM},
    {"io_uring_enter", 426, {-1}, ALL, EPERM},
    {"io_uring_register", 427, {-1}, ALL, EPERM},
    {"bpf", SYS_bpf, {9999, BAD_POINTER, 8}, ALL, EPERM},
    {"perf_event_open", SYS_perf_event_open, {BAD_POINTER, 0, -1, -1, 0}, ALL, EPERM},
    {"fanotify_init", SYS_fanotify_init, {0x7fffffff}, ALL, EPERM},
    {"vmsplice", SYS_vmsplice, {-1, 0, 0, 0}, ALL, EPERM},
    {"memfd_secret", 447, {0x7fffffff}, ALL, EPERM},
    {"add_key", SYS_add_key, {BAD_POINTER, 0}, ALL, EPERM},
    {"request_key", SYS_request_key, {BAD_POINTER, 0}, ALL, EPERM},
    {"keyctl", SYS_keyctl, {9999}, ALL, EPERM},
    {"name_to_handle_at", SYS_name_to_handle_at, {-1, BAD_POINTER, 0, 0, -1}, ALL, EPERM},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"kexec_load", SYS_kexec_load, {0, 9999, 0, -1}, ALL, EPERM},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, -1}, ALL, EPERM},
    {"init_module", SYS_init_module, {BAD_POINTER, 1, BAD_POINTER}, ALL, EPERM},
    {"finit_module", SYS_finit_module, {-1, BAD_POINTER, 0}, ALL, EPERM},
    {"delete_module", SYS_delete_module, {BAD_POINTER, 0}, ALL, EPERM},
    {"reboot", SYS_reboot, {0, 0, 0}, ALL, EPERM},
    {"swapon", SYS_swapon, {BAD_POINTER, 0}, ALL, EPERM},
    {"swapoff", SYS_swapoff, {BAD_POINTER}, ALL, EPERM},
    {"acct", SYS_acct, {BAD_POINTER}, ALL, EPERM},
    {"quotactl", SYS_quotactl, {-1, BAD_POINTER, 0, 0}, ALL, EPERM},
    {"quotactl_fd", 443, {-1, -1, 0, 0}, ALL, EPERM},
    {"syslog", SYS_syslog, {99, 0, 0}, ALL, EPERM},
    {"settimeofday", SYS_settimeofday, {BAD_POINTER, 0}, ALL, EPERM},
    {"clock_settime", SYS_clock_settime, {9999, 0}, ALL, EPERM},
    {"clock_adjtime", SYS_clock_adjtime, {9999, BAD_POINTER}, ALL, EPERM},
    {"adjtimex", SYS_adjtimex, {BAD_POINTER}, ALL, EPERM},
    {"sethostname", SYS_sethostname, {BAD_POINTER, -1}, ALL, EPERM},
    {"setdomainname", SYS_setdomainname, {BAD_POINTER, -1}, ALL, EPERM},
#ifdef SYS_iopl
    {"iopl", SYS_iopl, {99}, ALL, EPERM},
    {"ioperm", SYS_ioperm, {-1, 1, 1}, ALL, EPERM},
#endif
    {"clone(NEWNS)", SYS_clone, {CLONE_NEWNS | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWUSER)", SYS_clone, {CLONE_NEWUSER | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWPID)", SYS_clone, {CLONE_NEWPID | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWNET)", SYS_clone, {CLONE_NEWNET | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWIPC)", SYS_clone, {CLONE_NEWIPC | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWUTS)", SYS_clone, {CLONE_NEWUTS | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWCGROUP)", SYS_clone, {CLONE_NEWCGROUP | CLONE_SIGHAND}, ALL, EPERM},
    {"clone(NEWUSER, SIGCHLD)", SYS_clone, {CLONE_NEWUSER | CLONE_SIGHAND | SIGCHLD}, ALL, EPERM},
    {"ioctl(TIOCSTI)", SYS_ioctl, {-1, TIOCSTI, 0}, ALL, EPERM},
    {"ioctl(TIOCSTI + high half)", SYS_ioctl, {-1, TIOCSTI | 1L << 32, 0}, ALL, EPERM},
    {"ioctl(TIOCLINUX)", SYS_ioctl, {-1, TIOCLINUX, 0}, ALL, EPERM},
    {"personality", SYS_personality, {ADDR_NO_RANDOMIZE}, ALL, EPERM},
    {"socket(INET)", SYS_socket, {AF_INET, 99, 0}, ALL, EPERM},
    {"socket(INET6)", SYS_socket, {AF_INET6, 99, 0}, ALL, EPERM},
    {"socket(NETLINK)", SYS_socket, {AF_NETLINK, 99, 0}, ALL, EPERM},
    {"socket(PACKET)", SYS_socket, {AF_PACKET, 99, 0}, ALL, EPERM},
    {"socket(VSOCK)", SYS_socket, {AF_VSOCK, 99, 0}, ALL, EPERM},
    {"socket(ALG)", SYS_socket, {AF_ALG, 99, 0}, ALL, EPERM},
    {"socket(INET + high half)", SYS_socket, {AF_INET | 1L << 32, 99, 0}, ALL, EPERM},
    {"socket(UNIX)", SYS_socket, {AF_UNIX, 99, 0}, JUDGE, EPERM},
    {"socketpair(UNIX)", SYS_socketpair, {AF_UNIX, 99, 0, 0}, JUDGE, EPERM},
    /* What must stay possible; bad arguments here too. */
    {"personality query", SYS_personality, {0xffffffff}, 0, 0},
    {"getpid", SYS_getpid, {0}, 0, 0},
    {"memfd_create", SYS_memfd_create, {BAD_POINTER, 0}, 0, 0},
    {"ioctl", SYS_ioctl, {-1, FIONREAD, 0}, 0, 0},
    {"mbind", SYS_mbind, {BAD_POINTER, 0}, 0, 0},
    {"pidfd_open", SYS_pidfd_open, {-1, 0}, 0, 0},
    {"sched_setaffinity", SYS_sched_setaffinity, {-1, 0, 0}, 0, 0},
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

static int compile_all(void **state)
{
    (void)state;
    for (int p = 0; p <= JAIL_JUDGE; p++) {
        kgrade_error err = {0};
        if (filter_compile((enum jail_policy)p, &filters[p], &err)) {
            print_message("%s\n", err.message);
            return -1;
        }
    }
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int p = 0; p <= JAIL_JUDGE; p++)
        filter_free(&filters[p]);
    return 0;
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
            if (answer != (blocked ? a->answer : free_answer)) {
                print_message("%s under policy %u: %d, without filter: %d\n", a->name, p, answer,
                              free_answer);
                wrong++;
            }
        }
        if (a->policies && free_answer == a->answer) {
            /* Without privileges the kernel may give the same answer by itself. */
            print_message("%s: this user and kernel cannot tell\n", a->name);
            unclear++;
        }
    }
    print_message("%zu calls, %zu that this machine cannot tell\n",
                  sizeof attempts / sizeof *attempts, unclear);
    assert_int_equal(wrong, 0);
    if (geteuid() == 0)
        assert_in_range(unclear, 0, 5);
}

static void *thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static void test_threads_and_processes_work(void **state)
{
    (void)state;
    for (int p = 0; p <= JAIL_JUDGE; p++) {
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

#ifdef __x86_64__
/* Both other ABIs of the machine would number the same calls differently. */
static int foreign_call(bool x32)
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSYS, SIG_DFL); /* a sanitizer may have its own idea */
        signal(SIGSEGV, SIG_DFL);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(&filters[JAIL_RECORD]))
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
    assert_int_equal(foreign_call(true), SIGSYS);
    int r = foreign_call(false);
    if (r == SIGSEGV)
        print_message("skipped: this kernel has no 32-bit calls\n");
    else
        assert_int_equal(r, SIGSYS);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_rule),
        cmocka_unit_test(test_threads_and_processes_work),
#ifdef __x86_64__
        cmocka_unit_test(test_foreign_abi_kills),
#endif
    };
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
