#define _GNU_SOURCE
#include "world.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"

#define MAX_SHOWN 10u

static void add(struct world *w, char *line)
{
    char **lines = line ? realloc(w->lines, (w->n + 1) * sizeof *lines) : NULL;
    if (!lines)
        abort();
    w->lines = lines;
    w->lines[w->n++] = line;
}

__attribute__((format(printf, 2, 3))) static void add_format(struct world *w, const char *format,
                                                             ...)
{
    va_list ap;
    char *line = NULL;
    va_start(ap, format);
    if (vasprintf(&line, format, ap) < 0)
        line = NULL;
    va_end(ap);
    add(w, line);
}

void world_enter(void)
{
    /* What we were started with is none of ours: others may rename or remove it. */
    close_range(STDERR_FILENO + 1, ~0u, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        perror("prctl");
    if (unshare(CLONE_NEWNS) == 0 && (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
                                      mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL)))
        perror("mount");
}

struct process {
    pid_t pid, parent;
    char state, name[64];
};

/* /proc/PID/stat is "pid (name) state parent ..."; the name may hold anything but ends at the last
 * ')'. */
static bool read_process(const char *pid, struct process *ret)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = 0;
    char *from = strchr(text, '('), *to = strrchr(text, ')');
    if (!from || !to || to < from)
        return false;
    *to = 0;
    ret->pid = (pid_t)strtol(pid, NULL, 10);
    snprintf(ret->name, sizeof ret->name, "%s", from + 1);
    return sscanf(to + 1, " %c %d", &ret->state, &ret->parent) == 2;
}

static bool descends(const struct process *all, size_t n, pid_t pid, pid_t from)
{
    for (size_t steps = 0; steps < n && pid > 1; steps++) {
        if (pid == from)
            return true;
        pid_t parent = 0;
        for (size_t i = 0; i < n; i++)
            if (all[i].pid == pid)
                parent = all[i].parent;
        pid = parent;
    }
    return false;
}

/* Caller frees. */
static struct process *read_processes(size_t *ret_n)
{
    enum { MAX = 32768 };
    cleanup_dir DIR *proc = opendir("/proc");
    struct process *all = calloc(MAX, sizeof *all);
    size_t n = 0;
    if (!proc || !all)
        abort();
    for (struct dirent *entry; (entry = readdir(proc)) && n < MAX;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_process(entry->d_name, &all[n]))
            n++;
    *ret_n = n;
    return all;
}

static void look_at_processes(struct world *w)
{
    size_t n;
    cleanup_free struct process *all = read_processes(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].pid != getpid() && descends(all, n, all[i].pid, getpid()))
            add_format(w, "process %s, %s", all[i].name,
                       all[i].state == 'Z' ? "not reaped" : "running");
}

static struct world *walking; /* nftw has no argument of the caller's */

static int note_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind;
    if (ftw->level > 0)
        add_format(walking, "file %s", path);
    return 0;
}

static void look_at_files(struct world *w, const struct bait *bait)
{
    walking = w;
    nftw(bait->folder, note_file, 16, FTW_PHYS);
    static const char *const places[] = {"/",    "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue",
                                         "/dev", "/etc", "/usr/lib", "."};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        cleanup_dir DIR *place = opendir(places[i]);
        for (struct dirent *entry; place && (entry = readdir(place));)
            if (strstr(entry->d_name, bait->planted))
                add_format(w, "file %s/%s", places[i], entry->d_name);
    }
    if (shmget(bait->planted_key, 1, 0) >= 0)
        add_format(w, "System V shared memory %#x", (unsigned)bait->planted_key);
}

#define MAX_PATH 4096

/* Our own control group of version 2 as a folder; empty when there is none. */
static void find_own_cgroup(char ret[MAX_PATH])
{
    cleanup_file FILE *mounts = fopen("/proc/self/mounts", "re");
    cleanup_file FILE *own = fopen("/proc/self/cgroup", "re");
    char line[2 * MAX_PATH], mount[MAX_PATH] = "", type[64];
    *ret = 0;
    while (mounts && !*mount && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%*s %4000s %63s", mount, type) != 2 || strcmp(type, "cgroup2") != 0)
            *mount = 0;
    while (own && *mount && !*ret && fgets(line, sizeof line, own))
        if (!strncmp(line, "0::/", 4))
            snprintf(ret, MAX_PATH, "%.2000s%.*s", mount, (int)strcspn(line + 3, "\n"), line + 3);
    size_t n = strlen(ret);
    if (n && ret[n - 1] == '/')
        ret[n - 1] = 0;
}

/* Processes that have been seen to descend from us; the spawner among them. */
static struct {
    pid_t pids[4096];
    size_t n;
} seen;

static bool was_seen(pid_t pid)
{
    for (size_t i = 0; i < seen.n; i++)
        if (seen.pids[i] == pid)
            return true;
    return false;
}

static void note_descendants(const struct process *all, size_t n)
{
    for (size_t i = 0; i < n && seen.n < sizeof seen.pids / sizeof seen.pids[0]; i++)
        if (descends(all, n, all[i].pid, getpid()) && !was_seen(all[i].pid))
            seen.pids[seen.n++] = all[i].pid;
}

/* A number that has been given to somebody else since. */
static bool is_anothers(const struct process *all, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].pid == pid)
            return !descends(all, n, pid, getpid());
    return false;
}

/* The spawner of process P calls its group kgrade-P-N. */
static void look_at_groups_in(struct world *w, const char *path, const struct process *all,
                              size_t n)
{
    cleanup_dir DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int pid;
        if (sscanf(entry->d_name, "kgrade-%d-", &pid) == 1 && was_seen(pid) &&
            !is_anothers(all, n, pid))
            add_format(w, "control group %s/%s", path, entry->d_name);
    }
}

/* Groups are made in or beside the one that the grader is in. */
static void look_at_cgroups(struct world *w)
{
    char own[MAX_PATH];
    size_t n;
    cleanup_free struct process *all = read_processes(&n);
    note_descendants(all, n);
    find_own_cgroup(own);
    for (int i = 0; i < 2 && *own; i++) {
        look_at_groups_in(w, own, all, n);
        char *slash = strrchr(own, '/');
        if (slash)
            *slash = 0;
    }
}

static void look_at_mounts(struct world *w)
{
    cleanup_file FILE *mounts = fopen("/proc/self/mountinfo", "re");
    cleanup_free char *line = NULL;
    size_t size = 0;
    while (mounts && getline(&line, &size, mounts) > 0) {
        line[strcspn(line, "\n")] = 0;
        add_format(w, "mount %s", line);
    }
}

static void look_at_descriptors(struct world *w)
{
    cleanup_dir DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *entry; fds && (entry = readdir(fds));) {
        char target[512] = "";
        ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof target - 1);
        if (n > 0)
            add_format(w, "descriptor of %.*s", (int)strcspn(target, "["),
                       target); /* less an inode's number */
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Things of a kind are told apart by their number, so that one more of a kind is a new line. */
static void number_equals(struct world *w)
{
    size_t first = 0;
    for (size_t i = 1; i < w->n; i++) {
        if (strcmp(w->lines[first], w->lines[i]) != 0) {
            first = i;
            continue;
        }
        char *numbered = NULL;
        if (asprintf(&numbered, "%s (%zu)", w->lines[i], i - first + 1) < 0)
            abort();
        free(w->lines[i]);
        w->lines[i] = numbered;
    }
}

struct world world_look(unsigned kinds, const struct bait *bait)
{
    struct world w = {0};
    if (kinds & WORLD_PROCESSES)
        look_at_processes(&w);
    if (kinds & WORLD_FILES)
        look_at_files(&w, bait);
    if (kinds & WORLD_MOUNTS)
        look_at_mounts(&w);
    if (kinds & WORLD_DESCRIPTORS)
        look_at_descriptors(&w);
    if (kinds & WORLD_CGROUPS)
        look_at_cgroups(&w);
    if (w.n)
        qsort(w.lines, w.n, sizeof *w.lines, by_text);
    number_equals(&w);
    if (w.n)
        qsort(w.lines, w.n, sizeof *w.lines, by_text);
    return w;
}

void world_free(struct world *world)
{
    for (size_t i = 0; i < world->n; i++)
        free(world->lines[i]);
    free(world->lines);
    *world = (struct world){0};
}

static size_t count_new(const struct world *before, const struct world *now, const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < now->n; i++) {
        if (before->n &&
            bsearch(&now->lines[i], before->lines, before->n, sizeof *now->lines, by_text))
            continue;
        count++;
        if (prefix && count <= MAX_SHOWN)
            printf("%s%s\n", prefix, now->lines[i]);
    }
    if (prefix && count > MAX_SHOWN)
        printf("%sand %zu more\n", prefix, count - MAX_SHOWN);
    return count;
}

size_t world_left_behind(const struct world *before, unsigned kinds, const struct bait *bait,
                         double seconds, const char *prefix)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (double waited = 0;; waited += 0.02) {
        struct world now = world_look(kinds, bait);
        size_t count = count_new(before, &now, NULL);
        if (count && waited >= seconds)
            count_new(before, &now, prefix);
        world_free(&now);
        if (!count || waited >= seconds)
            return count;
        nanosleep(&pause, NULL);
    }
}
