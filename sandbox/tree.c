#define _GNU_SOURCE
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define FREEZE_ROUNDS 16 /* after so many, what could be found is killed anyhow */
#define EMPTY_ROUNDS 3   /* where other children remain, so many tables must show nothing */

struct process {
    pid_t pid;
    pid_t parent;
    long threads;
    unsigned long long started; /* with the number, tells one process from the next */
    bool below;                 /* descends from us */
    bool spared;
};

struct table {
    struct process *list; /* owned */
    size_t n;
};

static void cleanup_table_(struct table *t)
{
    free(t->list);
}
#define cleanup_table __attribute__((cleanup(cleanup_table_)))

/* The fields after the name; the name may hold anything, also ") ", so the last ')' counts. */
static bool read_process(int proc, const char *pid, struct process *ret)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "%.20s/stat", pid);
    cleanup_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = 0;
    char *after = strrchr(text, ')');
    struct process p = {.pid = (pid_t)atoi(pid)};
    if (!after ||
        sscanf(after + 1,
               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
               &p.parent, &p.threads, &p.started) != 3)
        return false;
    *ret = p;
    return true;
}

/* All processes, or those of one user. */
static bool read_table(struct table *t, const uid_t *user)
{
    cleanup_dir DIR *dir = opendir("/proc");
    if (!dir)
        return false;
    size_t room = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        struct process p;
        struct stat st;
        if (e->d_name[0] < '1' || e->d_name[0] > '9')
            continue;
        if (user && (fstatat(dirfd(dir), e->d_name, &st, 0) || st.st_uid != *user))
            continue;
        if (!read_process(dirfd(dir), e->d_name, &p))
            continue;
        if (t->n == room) {
            room = room ? 2 * room : 256;
            struct process *list = realloc(t->list, room * sizeof *list);
            if (!list)
                return false;
            t->list = list;
        }
        t->list[t->n++] = p;
    }
    return true;
}

static const struct process *find(const struct table *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->list[i].pid == pid)
            return &t->list[i];
    return NULL;
}

/* Marks descendants until nothing changes; process numbers say nothing about age. */
static void mark(struct table *t, pid_t self, const pid_t *spare, size_t n_spare)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < t->n; i++) {
            struct process *p = &t->list[i];
            if (p->below)
                continue;
            const struct process *parent = find(t, p->parent);
            if (p->parent != self && !(parent && parent->below))
                continue;
            p->below = true;
            p->spared = parent && parent->spared;
            for (size_t k = 0; k < n_spare; k++)
                p->spared = p->spared || p->pid == spare[k];
            changed = true;
        }
    }
}

/* A pidfd of exactly this process: its number may belong to somebody else by now. */
static int open_process(const struct process *p)
{
    cleanup_close int fd = pidfd_open(p->pid, 0);
    cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[16];
    struct process now;
    snprintf(name, sizeof name, "%d", (int)p->pid);
    if (fd < 0 || proc < 0 || !read_process(proc, name, &now) || now.started != p->started)
        return -1;
    return steal_fd(&fd);
}

/* Takes the right to have children from all that is marked; returns how many still had it.  They
 * cannot get it back, and count against the jail's number of processes until they are killed. */
static size_t freeze_marked(const struct table *t)
{
    size_t fresh = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct process *p = &t->list[i];
        const struct rlimit none = {0, 0};
        struct rlimit had = none;
        if (!p->below || p->spared)
            continue;
        cleanup_close int fd = open_process(p);
        if (fd >= 0 && prlimit(p->pid, RLIMIT_NPROC, &none, &had) == 0 && had.rlim_max != 0)
            fresh++;
    }
    return fresh;
}

static size_t kill_marked(const struct table *t, pid_t self)
{
    size_t found = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct process *p = &t->list[i];
        if (!p->below || p->spared)
            continue;
        found++;
        cleanup_close int fd = open_process(p);
        if (fd >= 0)
            pidfd_send_signal(fd, SIGKILL, NULL, 0);
        if (p->parent == self)
            waitpid(p->pid, NULL, WNOHANG);
    }
    return found;
}

/* Whoever loses its parent becomes a child of ours, so without children there is nobody below.  A
 * table of processes is no such proof: it is read while they come and go. */
static bool reap_all(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}

bool tree_kill_below_self(const pid_t *spare, size_t n_spare, uint64_t deadline)
{
    const struct timespec pause = {.tv_nsec = 500000};
    const pid_t self = getpid();
    unsigned rounds = 0, empty = 0;
    for (;;) {
        if (n_spare == 0 && reap_all())
            return true;
        cleanup_table struct table t = {0};
        if (read_table(&t, NULL)) {
            mark(&t, self, spare, n_spare);
            /* First all are frozen: killing some would make room for the children of others. */
            if (freeze_marked(&t) == 0 || ++rounds % FREEZE_ROUNDS == 0)
                empty = kill_marked(&t, self) == 0 ? empty + 1 : 0;
            if (n_spare > 0 && empty == EMPTY_ROUNDS)
                return true;
        }
        if (io_now() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

uint64_t tree_threads_of_user(uid_t user)
{
    cleanup_table struct table t = {0};
    uint64_t n = 0;
    if (!read_table(&t, &user))
        return 0;
    for (size_t i = 0; i < t.n; i++)
        n += t.list[i].threads > 0 ? (uint64_t)t.list[i].threads : 0;
    return n;
}
