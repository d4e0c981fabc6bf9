/*
 * Shows that the attacks of this suite would succeed where nothing stops them: an attack that fails here as well proves
 * nothing when it fails in a jail.
 *
 *     outside FOLDER...   0 all succeed, 1 one does not, 77 nothing could be run
 *
 * Runs those whose expect.json has "outside", all of which are harmless on the machine of who runs them:
 *
 *     "breach"     the candidate, loaded into a plain process and called, ends as one that has succeeded
 *     "discloses"  the plain compiler puts the secret into its messages or its output
 *     "compiles"   the plain compiler compiles it
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"
#include "bait.h"
#include "candidate.h"
#include "small_tasks.h"

#define SKIPPED 77
#define BREACH_STATUS 99
#define CALL_SECONDS 3 /* for those that do not return */
#define MAX_BYTES (64u << 20)

struct scene {
    struct bait bait;
    char tasks[160], suite[4096];
    char *facts;
};

static int compile(struct scene *s, const char *folder, const char *library, const char *log)
{
    cleanup_free char *source = candidate_source(folder, "candidate.c", s->facts), *command = NULL;
    char path[256];
    kgrade_error error;
    snprintf(path, sizeof path, "%s/candidate.c", s->bait.folder);
    if (!source || io_write_file(path, source, strlen(source), &error) ||
        asprintf(&command, "cc -std=gnu17 -O1 -fPIC -shared -o %s %s -lOpenCL -lm >%s 2>&1",
                 library, path, log) < 0)
        exit(1);
    int status = system(command);
    unlink(path);
    return status;
}

/* What a candidate finds in a process that nobody has tidied up: descriptors of the grader's, its environment. */
_Noreturn static void call(const struct scene *s, const char *library)
{
    int pair[2], null = open("/dev/null", O_RDWR);
    const struct rlimit none = {0, 0}; /* one that may be raised */
    alarm(CALL_SECONDS);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || dup2(pair[0], 3) < 0 ||
        dup2(open(s->bait.secret_file, O_RDONLY), 10) < 0 ||
        dup2(open(s->bait.folder, O_RDONLY | O_DIRECTORY), 11) < 0)
        _exit(1);
    setrlimit(RLIMIT_CORE, &none);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    void *candidate = dlopen(library, RTLD_NOW);
    void *symbol = candidate ? dlsym(candidate, "vector_add") : NULL;
    void (*entry)(void *, void *, void *, int, void *);
    memcpy(&entry, &symbol, sizeof symbol);
    if (symbol)
        entry(NULL, NULL, NULL, 1000, NULL);
    _exit(0);
}

static int run(const struct scene *s, const char *library)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        call(s, library);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whatever descends from us, until nothing does; we are the reaper of orphans. */
static void end_all(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        cleanup_file FILE *children = fopen("/proc/thread-self/children", "re");
        int pid, n = 0;
        while (children && fscanf(children, "%d", &pid) == 1) {
            kill(pid, SIGKILL);
            n++;
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (n == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

static void remove_planted(const struct bait *bait)
{
    static const char *const places[] = {"/",    "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue",
                                         "/dev", "/etc", "/usr/lib", "."};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        cleanup_dir DIR *place = opendir(places[i]);
        for (struct dirent *entry; place && (entry = readdir(place));) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", places[i], entry->d_name);
            if (strstr(entry->d_name, bait->planted))
                io_remove_tree(path, NULL);
        }
    }
    shmctl(shmget(bait->planted_key, 1, 0), IPC_RMID, NULL);
    semctl(semget(bait->planted_key, 1, 0), 0, IPC_RMID);
    msgctl(msgget(bait->planted_key, 0), IPC_RMID, NULL);
    char queue[80];
    snprintf(queue, sizeof queue, "/%s", bait->planted);
    mq_unlink(queue);
}

static bool holds_secret(const struct bait *bait, const char *path)
{
    cleanup_bytes struct bytes text = {0};
    kgrade_error error;
    return io_read_file(path, MAX_BYTES, &text, &error) == 0 &&
           memmem(text.data, text.size, bait->secret, sizeof bait->secret - 1);
}

static bool succeeds(struct scene *s, const char *folder, const json_t *expect)
{
    const char *how = candidate_text(expect, "outside"), *after = candidate_text(expect, "after");
    char library[256], log[256], first[4200];
    snprintf(library, sizeof library, "%s/candidate.so", s->bait.folder);
    snprintf(log, sizeof log, "%s/log", s->bait.folder);
    if (*after) {
        snprintf(first, sizeof first, "%s/%s", s->suite, after);
        if (compile(s, first, library, log) == 0)
            run(s, library);
    }
    int status = compile(s, folder, library, log);
    bool result = !strcmp(how, "discloses")
                      ? holds_secret(&s->bait, log) || holds_secret(&s->bait, library)
                  : !strcmp(how, "compiles") ? status == 0
                                             : status == 0 && run(s, library) == BREACH_STATUS;
    end_all();
    remove_planted(&s->bait);
    unlink(library);
    unlink(log);
    return result;
}

static void set_the_scene(struct scene *s, const char *folder)
{
    char place[] = "/tmp/attacks-XXXXXX";
    cleanup_free char *path = realpath(folder, NULL);
    snprintf(s->suite, sizeof s->suite, "%s", path ? dirname(dirname(path)) : ".");
    if (!mkdtemp(place)) {
        perror(place);
        exit(1);
    }
    bait_lay(&s->bait, place, place);
    small_tasks_make(&s->bait);
    snprintf(s->tasks, sizeof s->tasks, "%s/tasks", place);
    s->facts = bait_facts(&s->bait, s->tasks);
    if (!s->facts)
        exit(1);
}

int main(int argc, char **argv)
{
    static struct scene scene;
    int done = 0, failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: outside FOLDER...\n");
        return 2;
    }
    if (geteuid() != 0) {
        printf(
            "skipped: what most attacks reach for is forbidden to other users than root anyway\n");
        return SKIPPED;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    set_the_scene(&scene, argv[1]);
    for (int i = 1; i < argc; i++) {
        json_auto_t *expect = candidate_expectation(argv[i]);
        if (!expect || !json_object_get(expect, "outside"))
            continue;
        bool ok = succeeds(&scene, argv[i], expect);
        printf("%-6s %s: %s\n", ok ? "ok" : "FAILED", argv[i], candidate_text(expect, "about"));
        fflush(stdout);
        done++;
        failed += !ok;
    }
    bait_remove(&scene.bait);
    small_tasks_remove(&scene.bait);
    rmdir(scene.bait.folder);
    free(scene.facts);
    printf("%d of %d attacks succeed outside of a jail\n", done - failed, done);
    return failed || done == 0;
}
