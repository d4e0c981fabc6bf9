/* Uses every way there is to mount, unmount or change the root. */
#define _GNU_SOURCE
#include <sys/mount.h>

#include "../../attack.h"

static int clones_tree(void)
{
    return syscall(428 /* open_tree */, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */) >= 0;
}

static int opens_file_system(void)
{
    return syscall(430 /* fsopen */, "tmpfs", 0) >= 0;
}

static int mounts_tmpfs(void)
{
    return mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
}

static int remounts_writable(void)
{
    return mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL) == 0;
}

static int binds(void)
{
    return mount("/proc", "/tmp", NULL, MS_BIND, NULL) == 0;
}

static int unmounts(void)
{
    return umount2("/dev/null", MNT_DETACH) == 0;
}

static int changes_root(void)
{
    return chroot("/tmp") == 0 || syscall(SYS_pivot_root, "/tmp", "/tmp") == 0;
}

static void attack(void)
{
    attempt("open_tree", clones_tree);
    attempt("fsopen", opens_file_system);
    attempt("mount", mounts_tmpfs);
    attempt("remount", remounts_writable);
    attempt("bind", binds);
    attempt("umount2", unmounts);
    attempt("chroot", changes_root);
}

ATTACK_THEN_NOTHING
