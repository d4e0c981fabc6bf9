/* Tries what only the machine's owner may do. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "../../attack.h"

static void attack(void)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"bpf", SYS_bpf},
                 {"perf_event_open", SYS_perf_event_open},
                 {"userfaultfd", SYS_userfaultfd}};
    if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
        breach("mount");
    if (unshare(CLONE_NEWUSER) == 0)
        breach("unshare");
    if (chroot("/tmp") == 0)
        breach("chroot");
    if (sethostname("planted", 7) == 0)
        breach("sethostname");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (syscall(calls[i].number, 0, 0, 0, 0, 0) >= 0)
            breach(calls[i].name);
    static char ring[256];
    if (syscall(SYS_io_uring_setup, 4, ring) >= 0)
        breach("io_uring_setup");
    if (syscall(SYS_keyctl, 0, -3, 1) >= 0)
        breach("keyctl");
    if (mknod("/tmp/" PLANTED "-node", S_IFBLK | 0600, makedev(8, 0)) == 0 &&
        open("/tmp/" PLANTED "-node", O_RDONLY) >= 0)
        breach("mknod");
}

ATTACK_THEN_NOTHING
