#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

#define ROOT_BYTES "1m" /* holds folders and empty files to mount on */
#define ROOT_INODES "4096"
#define TMP_BYTES_PER_INODE 4096u
#define TMP_MIN_INODES 1024u

static const char *const standard_devices[MOUNTS_STANDARD] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
};

static const char setup_code[] = "jail_setup_failed";

void mounts_plan(struct mounts *mounts, const struct jail_spec *spec)
{
    mounts->n = 0;
    for (size_t i = 0; i < MOUNTS_STANDARD; i++)
        mounts->binds[mounts->n++] = (struct jail_bind){
            .source = standard_devices[i], .target = standard_devices[i], .device = true};
    for (size_t i = 0; i < spec->n_binds; i++)
        mounts->binds[mounts->n++] = spec->binds[i];
    for (size_t i = 0; i < MOUNTS_MAX; i++)
        mounts->trees[i] = -1;
}

void mounts_close(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        if (mounts->trees[i] >= 0)
            close(mounts->trees[i]);
        mounts->trees[i] = -1;
    }
}

static int no_source(const struct jail_bind *b, kgrade_error *err)
{
    return fail_errno(err, setup_code,
                      errno == ENOENT ? "Check the paths that the jail is given."
                                      : "Run `kgrade doctor`.",
                      "%s cannot be bound into the jail", b->source);
}

/* A writable source of the spawner's own user becomes the jail's: its uid is another one. */
static int give(const struct jail_bind *b, int fd, const uid_t *user, kgrade_error *err)
{
    if (!b->writable || b->device || !user)
        return 0;
    struct stat st;
    if (fstat(fd, &st) == 0) {
        if (st.st_uid != geteuid() || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
            return 0;
        if (fchownat(fd, "", *user, *user, AT_EMPTY_PATH) == 0)
            return 0;
    }
    return fail_errno(err, setup_code, NULL, "%s cannot be given to the jail's user", b->source);
}

int mounts_give(const struct jail_bind *b, const uid_t *user, kgrade_error *err)
{
    cleanup_close int fd = open(b->source, O_PATH | O_CLOEXEC);
    if (fd < 0 && b->optional)
        return 0;
    if (fd < 0)
        return no_source(b, err);
    return give(b, fd, user, err);
}

static int open_one(const struct jail_bind *b, int *ret_tree, const uid_t *give_to,
                    kgrade_error *err)
{
    cleanup_close int tree =
        open_tree(AT_FDCWD, b->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (tree < 0 && b->optional && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (tree < 0)
        return no_source(b, err);
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | (b->device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV) |
                    (b->writable ? 0 : MOUNT_ATTR_RDONLY),
        .propagation = MS_PRIVATE,
    };
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr))
        return fail_errno(err, setup_code, "Linux 5.12 or newer is needed.",
                          "The mount of %s cannot be restricted", b->source);
    if (give(b, tree, give_to, err))
        return -1;
    *ret_tree = steal_fd(&tree);
    return 0;
}

int mounts_open(struct mounts *mounts, const uid_t *give_to, kgrade_error *err)
{
    for (size_t i = 0; i < mounts->n; i++)
        if (open_one(&mounts->binds[i], &mounts->trees[i], give_to, err))
            return -1;
    return 0;
}

bool mounts_allowed(void)
{
    cleanup_close int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree >= 0;
}

/* A new file system, not attached anywhere.  options are pairs of name and value. */
static int new_filesystem(const char *type, const char *const *options, unsigned attributes,
                          kgrade_error *err)
{
    cleanup_close int context = fsopen(type, FSOPEN_CLOEXEC);
    if (context < 0)
        return fail_errno(err, setup_code, NULL, "A private %s cannot be made", type);
    for (size_t i = 0; options[i]; i += 2)
        if (fsconfig(context, FSCONFIG_SET_STRING, options[i], options[i + 1], 0))
            return fail_errno(err, setup_code, NULL, "A private %s does not take %s=%s", type,
                              options[i], options[i + 1]);
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        return fail_errno(err, setup_code,
                          "A container that masks parts of /proc forbids a fresh one: run with "
                          "--security-opt systempaths=unconfined, or without ProtectProc= and "
                          "ProtectKernelTunables= under systemd.",
                          "A private %s cannot be made", type);
    int fd = fsmount(context, FSMOUNT_CLOEXEC, attributes);
    if (fd < 0)
        return fail_errno(err, setup_code,
                          "A container that masks parts of /proc forbids a fresh one: run with "
                          "--security-opt systempaths=unconfined, or without ProtectProc= and "
                          "ProtectKernelTunables= under systemd.",
                          "A private %s cannot be mounted", type);
    return fd;
}

/* Opens a path inside the new root; symbolic links in bound folders cannot lead out of it. */
static int open_inside(int root, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Makes the folder `path` with its parents inside root, and returns it open. */
static int make_folder(int root, const char *path)
{
    int have = open_inside(root, path);
    if (have >= 0 || errno != ENOENT)
        return have;
    char prefix[4096];
    size_t n = strlen(path);
    if (n >= sizeof prefix) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(prefix, path, n + 1);
    cleanup_close int parent = open_inside(root, "/");
    for (char *p = prefix; parent >= 0 && *p;) {
        p += strspn(p, "/");
        if (!*p)
            break;
        char *end = p + strcspn(p, "/");
        char saved = *end;
        *end = 0;
        if (mkdirat(parent, p, 0755) && errno != EEXIST)
            return -1;
        int next = open_inside(root, prefix);
        if (next < 0)
            return -1;
        close(parent);
        parent = next;
        *end = saved;
        p = end;
    }
    return steal_fd(&parent);
}

static int make_file(int root, const char *path)
{
    int have = open_inside(root, path);
    if (have >= 0 || errno != ENOENT)
        return have;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = 0;
    const char *name = path + (slash - folder) + 1;
    cleanup_close int parent = make_folder(root, *folder ? folder : "/");
    if (parent < 0)
        return -1;
    cleanup_close int file =
        openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (file < 0)
        return -1;
    return open_inside(root, path);
}

static int attach(int root, int tree, const char *target, kgrade_error *err)
{
    struct stat st;
    if (fstat(tree, &st))
        return fail_errno(err, setup_code, NULL, "The source of %s cannot be examined", target);
    cleanup_close int at =
        S_ISDIR(st.st_mode) ? make_folder(root, target) : make_file(root, target);
    if (at < 0)
        return fail_errno(
            err, setup_code,
            "A target below another bind must exist there, for that bind is read-only.",
            "No place can be made for %s in the jail", target);
    if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
        return fail_errno(err, setup_code, NULL, "%s cannot be mounted in the jail", target);
    return 0;
}

static int attach_new(int root, const char *type, const char *const *options, unsigned attributes,
                      const char *target, kgrade_error *err)
{
    cleanup_close int fd = new_filesystem(type, options, attributes, err);
    if (fd < 0)
        return -1;
    return attach(root, fd, target, err);
}

static int fill(int root, struct mounts *mounts, const struct jail_spec *spec, kgrade_error *err)
{
    char size[32], inodes[32];
    uint64_t n_inodes = spec->limits.tmp_bytes / TMP_BYTES_PER_INODE;
    snprintf(size, sizeof size, "%llu", (unsigned long long)spec->limits.tmp_bytes);
    snprintf(inodes, sizeof inodes, "%llu",
             (unsigned long long)(n_inodes < TMP_MIN_INODES ? TMP_MIN_INODES : n_inodes));
    const char *const tmp[] = {"size", size, "nr_inodes", inodes, "mode", "1777", NULL};
    const char *const none[] = {NULL};
    const unsigned plain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (attach_new(root, "proc", none, plain | MOUNT_ATTR_NOEXEC, "/proc", err) ||
        attach_new(root, "tmpfs", tmp, plain, "/tmp", err) ||
        attach_new(root, "tmpfs", tmp, plain, "/dev/shm", err))
        return -1;
    for (size_t i = 0; i < mounts->n; i++)
        if (mounts->trees[i] >= 0 && attach(root, mounts->trees[i], mounts->binds[i].target, err))
            return -1;

    static const char *const links[][2] = {
        {"/proc/self/fd", "dev/fd"},
        {"/proc/self/fd/0", "dev/stdin"},
        {"/proc/self/fd/1", "dev/stdout"},
        {"/proc/self/fd/2", "dev/stderr"},
        /* The merged /usr of every current distribution.  Links, not binds: programs look for
         * their parts beside the place that a library's path resolves to. */
        {"usr/bin", "bin"},
        {"usr/sbin", "sbin"}, /* /sbin/ldconfig tells frameworks where libraries are */
        {"usr/lib", "lib"},
        {"usr/lib64", "lib64"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlinkat(links[i][0], root, links[i][1]) && errno != EEXIST)
            return fail_errno(err, setup_code, NULL, "/%s cannot be made in the jail", links[i][1]);
    cleanup_close int workdir = make_folder(root, spec->workdir);
    if (workdir < 0)
        return fail_errno(err, setup_code, NULL, "The working folder %s cannot be made in the jail",
                          spec->workdir);
    return 0;
}

/* Makes `root` the root of the file system and lets go of the old one. */
static int move_in(int root, kgrade_error *err)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (mount_setattr(root, "", AT_EMPTY_PATH, &attr, sizeof attr))
        return fail_errno(err, setup_code, NULL, "The private root cannot be made read-only");
    /* With both names the same, the old root ends up on top of the new one, and "." is the old
     * root. */
    if (fchdir(root) || syscall(SYS_pivot_root, ".", "."))
        return fail_errno(err, setup_code, "The root of the host must not be the initial ramfs.",
                          "The private root cannot become the root");
    if (umount2(".", MNT_DETACH) || chdir("/"))
        return fail_errno(err, setup_code, NULL, "The host's root cannot be left");
    return 0;
}

int mounts_enter(struct mounts *mounts, const struct jail_spec *spec, kgrade_error *err)
{
    static const char *const options[] = {"size", ROOT_BYTES, "nr_inodes", ROOT_INODES,
                                          "mode", "755",      NULL};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return fail_errno(err, setup_code, NULL, "The mounts cannot be made private");
    cleanup_close int root =
        new_filesystem("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
    if (root < 0)
        return -1;
    /* On top of "/": no folder of the host is needed, and nothing that was opened before is hidden.
     */
    if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH))
        return fail_errno(err, setup_code, NULL, "The private root cannot be mounted");
    if (fill(root, mounts, spec, err))
        return -1;
    return move_in(root, err);
}
