/* Loads a BPF program and opens a performance counter, the classic ways to read the kernel's memory. */
#define _GNU_SOURCE
#include "../../attack.h"

/* The arguments are bad, so a call that gets to the kernel fails with another error than a filter's. */
static int reached(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

static int reaches_bpf(void)
{
    return reached(syscall(SYS_bpf, 0, NULL, 0));
}

static int reaches_perf(void)
{
    return reached(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static void attack(void)
{
    attempt("bpf", reaches_bpf);
    attempt("perf", reaches_perf);
}

ATTACK_THEN_NOTHING
