#define _GNU_SOURCE
#include "cgroup_home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

const struct cgroup_places cgroup_real_places = {"/proc/self", "/run/systemd/system"};

static const char unavailable[] = "cgroup_unavailable";
static const char delegate_hint[] =
    "Run the service under systemd with Delegate=yes; by hand: systemd-run --scope -p "
    "Delegate=yes PROGRAM.";
static const char unified_hint[] =
    "Boot with the unified hierarchy (systemd.unified_cgroup_hierarchy=1).";

/* Files of a cgroup */

int cgroup_read_line(int folder, const char *file, char *ret, size_t size)
{
    cleanup_close int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (n < 0)
        return -1;
    ret[n] = 0;
    ret[strcspn(ret, "\n")] = 0;
    return 0;
}

int cgroup_write(int folder, const char *file, const char *text)
{
    cleanup_close int fd = openat(folder, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    if (n >= 0 && (size_t)n != strlen(text))
        errno = EIO;
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

bool cgroup_has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == 0 || p[n] == ' '))
            return true;
    return false;
}

/* Finding the home */

/* The process's cgroup as its namespace shows it, for example "/system.slice/x.service". */
static bool read_own_path(const char *proc, char *ret, size_t size)
{
    char name[256], line[CGROUP_MAX_PATH];
    snprintf(name, sizeof name, "%.200s/cgroup", proc);
    cleanup_file FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "0::/", 4))
            continue;
        snprintf(ret, size, "%s", line + 3);
        return true;
    }
    return false;
}

/* Where the whole of the version 2 hierarchy is mounted. */
static bool read_mount_point(const char *proc, char *ret, size_t size)
{
    char name[256], line[2 * CGROUP_MAX_PATH], root[CGROUP_MAX_PATH], at[CGROUP_MAX_PATH];
    snprintf(name, sizeof name, "%.200s/mountinfo", proc);
    cleanup_file FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *type = strstr(line, " - ");
        if (!type || strncmp(type, " - cgroup2 ", 11) ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) != 2)
            continue;
        if (strcmp(root, "/") || strchr(at, '\\'))
            continue;
        snprintf(ret, size, "%s", at);
        return true;
    }
    return false;
}

static bool is_delegated(int folder)
{
    char value[8] = "";
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", folder);
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    for (size_t i = 0; i < 2; i++)
        if (getxattr(self, names[i], value, sizeof value - 1) > 0 && value[0] == '1')
            return true;
    return false;
}

/* Whether the process may make cgroups in the folder, and nobody else does. */
static int check_home(const struct cgroup_home *home, const char *systemd, kgrade_error *err)
{
    cleanup_close int fd = open(home->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return fail_errno(err, unavailable, unified_hint, "The cgroup %s cannot be opened",
                          home->folder);
    static const char *const files[] = {"cgroup.procs", "cgroup.subtree_control"};
    bool mine = st.st_uid == geteuid() && faccessat(fd, ".", W_OK, AT_EACCESS) == 0;
    for (size_t i = 0; i < 2; i++)
        mine = mine && faccessat(fd, files[i], W_OK, AT_EACCESS) == 0;
    if (!mine)
        return fail(err, unavailable, delegate_hint, "The cgroup %s is not delegated to this user.",
                    home->folder);
    if (home->is_root)
        return 0;
    /* Root may write everywhere; under systemd that does not make it the owner. */
    if (geteuid() == 0 && access(systemd, F_OK) == 0 && !is_delegated(fd))
        return fail(err, unavailable, delegate_hint,
                    "The cgroup %s belongs to systemd, which has not delegated it.", home->folder);
    char type[32];
    if (cgroup_read_line(fd, "cgroup.type", type, sizeof type) || strcmp(type, "domain"))
        return fail(err, unavailable, delegate_hint, "The cgroup %s cannot be divided.",
                    home->folder);
    return 0;
}

int cgroup_home_find(const struct cgroup_places *places, struct cgroup_home *ret, kgrade_error *err)
{
    char path[CGROUP_MAX_PATH], mount[CGROUP_MAX_PATH], events[2 * CGROUP_MAX_PATH + 16];
    if (!read_own_path(places->proc, path, sizeof path))
        return fail(err, unavailable, unified_hint, "This machine has no cgroup v2 hierarchy.");
    if (!read_mount_point(places->proc, mount, sizeof mount))
        return fail(err, unavailable, unified_hint, "The cgroup v2 hierarchy is not mounted.");
    if (!strncmp(path, "/..", 3))
        return fail(err, unavailable, delegate_hint,
                    "The cgroup of this process is outside of what it can see.");
    struct cgroup_home home = {.in_main = false};
    snprintf(home.folder, sizeof home.folder, "%s%s", mount, path[1] ? path : "");
    char *name = strrchr(path, '/') + 1;
    if (!strcmp(name, CGROUP_MAIN_LEAF)) {
        home.in_main = true;
        home.folder[strlen(home.folder) - strlen(name) - 1] = 0;
    }
    snprintf(events, sizeof events, "%s/cgroup.events", home.folder);
    home.is_root = access(events, F_OK) != 0;
    if (check_home(&home, places->systemd, err))
        return -1;
    *ret = home;
    return 0;
}

/* Leaving it */

static bool holds_only(int folder, pid_t pid)
{
    cleanup_close int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char text[256], wanted[32];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n < 0)
        return false;
    text[n] = 0;
    snprintf(wanted, sizeof wanted, "%d\n", (int)pid);
    return !strcmp(text, wanted);
}

int cgroup_home_step_aside(const struct cgroup_places *places, kgrade_error *err)
{
    struct cgroup_home home;
    if (cgroup_home_find(places, &home, err))
        return -1;
    if (home.is_root || home.in_main)
        return 0;
    cleanup_close int fd = open(home.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !holds_only(fd, getpid()))
        return fail(err, unavailable, delegate_hint,
                    "The cgroup %s also holds processes that are not kgrade's.", home.folder);
    if ((mkdirat(fd, CGROUP_MAIN_LEAF, 0755) && errno != EEXIST) ||
        cgroup_write(fd, CGROUP_MAIN_LEAF "/cgroup.procs", "0"))
        return fail_errno(err, unavailable, delegate_hint,
                          "This process cannot be moved to a leaf of %s", home.folder);
    return 0;
}
