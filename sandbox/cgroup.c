#define _GNU_SOURCE
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/io.h"
#include "jail.h"

#define GROUP_PREFIX "kgrade-"
#define SPAWNER_LEAF "spawner"
#define JAIL_NAME "jail-%u"
#define TRIAL_SLOT JAIL_MAX_RUNNING /* no jail's */
#define MAKE_TRIES 100             /* another spawner's sweep may take a group that is being made */
#define EMPTY_NS (5 * IO_NS_PER_S) /* for killed processes to be gone */
#define SWEEP_NS IO_NS_PER_S       /* for what an earlier life has left, all together */
#define MAX_DEPTH 32u
#define PAUSE_NS 200000
#define CPU_PERIOD_US 100000u

static const char unavailable[] = "cgroup_unavailable";
static const char setup_code[] = "jail_setup_failed";

/* The files of one cgroup */

/* Where the kernel is built without a controller's file, the limit it stands for has no meaning. */
static int write_number(int folder, const char *file, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cgroup_write(folder, file, text);
}

static int write_if_there(int folder, const char *file, const char *text)
{
    return cgroup_write(folder, file, text) && errno != ENOENT ? -1 : 0;
}

int cgroup_limit(int folder, const struct cgroup_controllers *have,
                 const struct jail_limits *limits, uint64_t others, kgrade_error *err)
{
    char quota[64];
    if (have->memory && limits->memory_total_bytes &&
        (write_number(folder, "memory.max", limits->memory_total_bytes) ||
         write_if_there(folder, "memory.swap.max", "0") ||
         write_if_there(folder, "memory.oom.group", "1")))
        return fail_errno(err, setup_code, NULL, "The memory of a jail cannot be limited");
    if (have->pids && write_number(folder, "pids.max", limits->processes + others))
        return fail_errno(err, setup_code, NULL, "The processes of a jail cannot be limited");
    snprintf(quota, sizeof quota, "%" PRIu64 " %u", limits->cpu_percent * (CPU_PERIOD_US / 100),
             CPU_PERIOD_US);
    if (have->cpu && limits->cpu_percent && cgroup_write(folder, "cpu.max", quota))
        return fail_errno(err, setup_code, NULL, "The CPU time of a jail cannot be limited");
    return 0;
}

/* The value of one line "name value"; false if there is none. */
static bool read_value(int folder, const char *file, const char *name, uint64_t *ret)
{
    char text[1024];
    cleanup_close int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n < 0)
        return false;
    text[n] = 0;
    size_t length = strlen(name);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0)
        if (!strncmp(line, name, length) && line[length] == ' ') {
            *ret = strtoull(line + length + 1, NULL, 10);
            return true;
        }
    errno = ENODATA;
    return false;
}

int cgroup_populated(int folder)
{
    uint64_t value;
    if (!read_value(folder, "cgroup.events", "populated", &value))
        return -1;
    return value != 0;
}

void cgroup_usage(int folder, struct jail_status *status)
{
    char text[64];
    uint64_t killed;
    if (cgroup_read_line(folder, "memory.peak", text, sizeof text) == 0)
        status->peak_bytes = strtoull(text, NULL, 10);
    if (read_value(folder, "memory.events", "oom_kill", &killed))
        status->out_of_memory = killed > 0;
}

/* Jails */

static int open_below(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static int open_jail(const struct cgroup_group *g, unsigned slot)
{
    char name[32];
    snprintf(name, sizeof name, JAIL_NAME, slot);
    return open_below(g->fd, name);
}

int cgroup_jail_make(const struct cgroup_group *g, unsigned slot, const struct jail_limits *limits,
                     uint64_t others, kgrade_error *err)
{
    char name[32];
    snprintf(name, sizeof name, JAIL_NAME, slot);
    if (mkdirat(g->fd, name, 0755))
        return fail_errno(err, setup_code, "Restart kgrade.",
                          "The cgroup of a jail cannot be made");
    cleanup_close int fd = open_jail(g, slot);
    if (fd < 0)
        fail_errno(err, setup_code, NULL, "The cgroup of a jail cannot be opened");
    if (fd < 0 || cgroup_limit(fd, &g->have, limits, others, err)) {
        unlinkat(g->fd, name, AT_REMOVEDIR);
        return -1;
    }
    return steal_fd(&fd);
}

void cgroup_jail_kill(const struct cgroup_group *g, unsigned slot)
{
    char file[64];
    snprintf(file, sizeof file, JAIL_NAME "/cgroup.kill", slot);
    if (g->can_kill)
        cgroup_write(g->fd, file, "1");
}

int cgroup_jail_populated(const struct cgroup_group *g, unsigned slot)
{
    cleanup_close int fd = open_jail(g, slot);
    return fd < 0 ? -1 : cgroup_populated(fd);
}

void cgroup_jail_usage(const struct cgroup_group *g, unsigned slot, struct jail_status *status)
{
    cleanup_close int fd = open_jail(g, slot);
    if (fd >= 0 && g->have.memory)
        cgroup_usage(fd, status);
}

/* A process that may write to its cgroup may have made others in it.  True when it is gone; the
 * kernel refuses while a process is on its last steps. */
static bool remove_tree(int folder, const char *name, unsigned depth)
{
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    cleanup_close int fd = depth ? open_below(folder, name) : -1;
    cleanup_close int copy = fd < 0 ? -1 : dup(fd);
    cleanup_dir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return false;
    steal_fd(&copy); /* it belongs to dir now */
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            remove_tree(fd, e->d_name, depth - 1);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

bool cgroup_jail_remove(const struct cgroup_group *g, unsigned slot)
{
    char name[32];
    snprintf(name, sizeof name, JAIL_NAME, slot);
    int populated = cgroup_jail_populated(g, slot);
    if (populated == 1) {
        cgroup_jail_kill(g, slot);
        return false;
    }
    return remove_tree(g->fd, name, MAX_DEPTH);
}

/* Left-overs */

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

static bool is_group(const char *name)
{
    return !strncmp(name, GROUP_PREFIX, strlen(GROUP_PREFIX)) && strcmp(name, CGROUP_MAIN_LEAF);
}

static bool spawner_lives(int group)
{
    cleanup_close int fd = open_below(group, SPAWNER_LEAF);
    return fd >= 0 && cgroup_populated(fd) == 1;
}

static bool has_leaf(int group)
{
    return faccessat(group, SPAWNER_LEAF, F_OK, AT_EACCESS) == 0;
}

/* Removes a group that is empty; false when it is not, or not any more.  The spawner's leaf goes
 * first: without it nobody can move in. */
static bool take_apart(int home, const char *name, int group)
{
    if (has_leaf(group))
        return remove_tree(group, SPAWNER_LEAF, MAX_DEPTH) && remove_tree(home, name, MAX_DEPTH);
    if (unlinkat(home, name, AT_REMOVEDIR) == 0)
        return true;
    /* It has either got its leaf just now, or jails whose spawner's leaf somebody has taken away. */
    return !has_leaf(group) && remove_tree(home, name, MAX_DEPTH);
}

/* Kills what runs in a group that nobody looks after any more, and removes it.  A group may be in
 * the making: then it is empty until its spawner moves in, which comes before any jail.  So a group
 * where something lives, but after that no spawner, has lost it.  An empty one may be taken away; its
 * maker tries again. */
static void remove_group(int home, const char *name, uint64_t deadline)
{
    cleanup_close int fd = open_below(home, name);
    while (fd >= 0) {
        bool populated = cgroup_populated(fd) == 1;
        if (populated && (spawner_lives(fd) || cgroup_write(fd, "cgroup.kill", "1")))
            return;
        if ((!populated && take_apart(home, name, fd)) || io_now() >= deadline)
            return;
        pause_briefly();
    }
}

static void sweep(int home)
{
    const uint64_t deadline = io_now() + SWEEP_NS;
    cleanup_close int copy = openat(home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return;
    steal_fd(&copy); /* it belongs to dir now */
    for (const struct dirent *e; (e = readdir(dir));)
        if (is_group(e->d_name))
            remove_group(home, e->d_name, deadline);
}

void cgroup_sweep(const struct cgroup_home *home)
{
    cleanup_close int fd = open(home->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        sweep(fd);
}

/* The group */

/* Passes a controller on to the children of a cgroup.  In the root that is the machine's business.
 */
static bool pass_on(int folder, bool is_root, const char *controller)
{
    char list[1024], text[32];
    if (cgroup_read_line(folder, "cgroup.subtree_control", list, sizeof list) == 0 &&
        cgroup_has_word(list, controller))
        return true;
    snprintf(text, sizeof text, "+%s", controller);
    return !is_root && cgroup_write(folder, "cgroup.subtree_control", text) == 0;
}

static bool pass_on_twice(const struct cgroup_group *g, const char *controller)
{
    return pass_on(g->home_fd, g->home.is_root, controller) && pass_on(g->fd, false, controller);
}

static int make_group(struct cgroup_group *g, kgrade_error *err)
{
    for (unsigned i = 0; i < MAKE_TRIES; i++) {
        /* Never the same name twice: a sweep that is about to remove a group goes by it. */
        snprintf(g->name, sizeof g->name, GROUP_PREFIX "%d-%" PRIx64, (int)getpid(), io_now());
        if (mkdirat(g->home_fd, g->name, 0755)) {
            if (errno == EEXIST)
                continue;
            break;
        }
        g->fd = open_below(g->home_fd, g->name);
        if (g->fd >= 0 && mkdirat(g->fd, SPAWNER_LEAF, 0755) == 0 &&
            cgroup_write(g->fd, SPAWNER_LEAF "/cgroup.procs", "0") == 0)
            return 0;
        int saved = errno;
        if (g->fd >= 0)
            unlinkat(g->fd, SPAWNER_LEAF, AT_REMOVEDIR);
        unlinkat(g->home_fd, g->name, AT_REMOVEDIR);
        if (g->fd >= 0)
            close(steal_fd(&g->fd));
        errno = saved;
        if (errno != ENOENT && errno != ENODEV)
            break;
    }
    return fail_errno(err, unavailable, NULL, "No cgroup can be made in %s", g->home.folder);
}

/* One process that does nothing goes through all that a jail does. */
static int try_jail(struct cgroup_group *g, kgrade_error *err)
{
    const struct jail_limits limits = {.memory_total_bytes = 16 << 20, .processes = 4};
    cleanup_close int fd = cgroup_jail_make(g, TRIAL_SLOT, &limits, 0, err);
    if (fd < 0)
        return -1;
    int pidfd;
    pid_t pid = jail_clone(0, fd, &pidfd);
    if (pid == 0)
        for (;;)
            pause();
    int saved = errno;
    bool alive = pid > 0 && cgroup_populated(fd) == 1;
    if (pid > 0) {
        if (g->can_kill && cgroup_write(fd, "cgroup.kill", "1"))
            g->can_kill = false;
        if (!g->can_kill)
            pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(pidfd);
    }
    bool removed = false;
    for (uint64_t end = io_now() + EMPTY_NS; !removed && io_now() < end;) {
        removed = cgroup_jail_remove(g, TRIAL_SLOT);
        if (!removed)
            pause_briefly();
    }
    errno = saved;
    if (pid < 0)
        return fail_errno(err, unavailable, "Linux 5.7 or newer is needed, and clone3 allowed.",
                          "A process cannot be started in a cgroup");
    if (!alive || !removed)
        return fail(err, unavailable, NULL, "A trial cgroup in %s %s.", g->home.folder,
                    alive ? "could not be removed" : "did not show its process");
    return 0;
}

int cgroup_group_open(struct cgroup_group *ret, kgrade_error *err)
{
    struct cgroup_group g = CGROUP_NO_GROUP;
    *ret = g;
    if (cgroup_home_find(&cgroup_real_places, &g.home, err))
        return -1;
    if (!g.home.is_root && !g.home.in_main)
        return fail(err, unavailable, NULL,
                    "The process that started this one has not left the cgroup %s.", g.home.folder);
    g.home_fd = open(g.home.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g.home_fd < 0)
        return fail_errno(err, unavailable, NULL, "The cgroup %s cannot be opened", g.home.folder);
    sweep(g.home_fd);
    if (make_group(&g, err)) {
        close(g.home_fd);
        return -1;
    }
    g.have.memory = pass_on_twice(&g, "memory");
    g.have.pids = pass_on_twice(&g, "pids");
    g.have.cpu = pass_on_twice(&g, "cpu");
    g.can_kill = faccessat(g.fd, "cgroup.kill", W_OK, AT_EACCESS) == 0;
    if (try_jail(&g, err)) {
        cgroup_group_close(&g);
        return -1;
    }
    *ret = g;
    return 0;
}

void cgroup_group_close(struct cgroup_group *g)
{
    if (g->fd < 0)
        return;
    if (cgroup_write(g->home_fd,
                     g->home.in_main ? CGROUP_MAIN_LEAF "/cgroup.procs" : "cgroup.procs", "0") == 0)
        remove_group(g->home_fd, g->name, io_now() + SWEEP_NS);
    close(g->fd);
    close(g->home_fd);
    *g = CGROUP_NO_GROUP;
}
