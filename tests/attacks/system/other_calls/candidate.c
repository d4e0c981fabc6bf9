/* Reaches for calls that only the owner of the machine needs. */
#define _GNU_SOURCE
#include "../../attack.h"

/* The arguments are bad, so a call that gets to the kernel fails with another error than a filter's. */
static int reached(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

static int reaches_finit_module(void)
{
    return reached(syscall(SYS_finit_module, -1, "", 0));
}

static int reaches_kexec(void)
{
    return reached(syscall(SYS_kexec_load, 0, 99, NULL, 0));
}

static int reaches_acct(void)
{
    return reached(syscall(SYS_acct, "/nonexistent"));
}

static int reaches_swapon(void)
{
    return reached(syscall(SYS_swapon, "/nonexistent", 0));
}

static int reaches_quotactl(void)
{
    return reached(syscall(SYS_quotactl, 0, "/nonexistent", 0, NULL));
}

static int reaches_fanotify(void)
{
    return reached(syscall(SYS_fanotify_init, 0xffffffff, 0));
}

static int reaches_vmsplice(void)
{
    return reached(syscall(SYS_vmsplice, -1, NULL, 0, 0));
}

static int reaches_memfd_secret(void)
{
    return reached(syscall(447 /* memfd_secret */, 0xffff));
}

static int reaches_process_madvise(void)
{
    return reached(syscall(440 /* process_madvise */, -1, NULL, 0, 0, 0));
}

static int reaches_process_vm_readv(void)
{
    return reached(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 99));
}

static void attack(void)
{
    attempt("finit_module", reaches_finit_module);
    attempt("kexec", reaches_kexec);
    attempt("acct", reaches_acct);
    attempt("swapon", reaches_swapon);
    attempt("quotactl", reaches_quotactl);
    attempt("fanotify", reaches_fanotify);
    attempt("vmsplice", reaches_vmsplice);
    attempt("memfd_secret", reaches_memfd_secret);
    attempt("process_madvise", reaches_process_madvise);
    attempt("process_vm_readv", reaches_process_vm_readv);
}

ATTACK_THEN_NOTHING
