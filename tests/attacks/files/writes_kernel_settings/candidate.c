/* Opens the kernel's switches for writing: core pattern, SysRq, cgroups, devices, its own protection from the memory killer. */
#define _GNU_SOURCE
#include "../../attack.h"

static int lowers_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    return fd >= 0 && write(fd, "-1000", 5) == 5;
}

static void attack(void)
{
    static const char *const files[] = {"/proc/sys/kernel/core_pattern",
                                        "/proc/sys/kernel/randomize_va_space",
                                        "/proc/sys/kernel/hostname",
                                        "/proc/sys/vm/overcommit_memory",
                                        "/proc/sysrq-trigger",
                                        "/proc/1/oom_score_adj",
                                        "/proc/1/mem",
                                        "/proc/kcore",
                                        "/sys/fs/cgroup/cgroup.procs",
                                        "/sys/kernel/uevent_helper",
                                        "/sys/power/state",
                                        "/proc/acpi"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (open(files[i], O_WRONLY) >= 0)
            breach(files[i]);
    if (open("/proc/kcore", O_RDONLY) >= 0 || open("/proc/kmsg", O_RDONLY | O_NONBLOCK) >= 0)
        breach("the kernel's memory or log");
    attempt("oom_score_adj", lowers_oom_score);
}

ATTACK_THEN_NOTHING
