/*
 * kill -9 at random moments: of the server, of its spawner, of whatever runs in its jails, while clients keep asking.
 * What was answered 200 or 202 must come to its end, once, and the store must be whole.
 *
 *     KGRADED=build/release/bin/kgraded KGRADE_KILLS=200 tests/http/http_kills
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire.h"

#define DEFAULT_KILLS 12
#define N_CLIENTS 3
#define MAX_JOBS 4096
#define MAX_TRIES 4  /* for each kill: not always is something in a jail */
#define SETTLE_S 240 /* for what was accepted to be graded when the killing is over */
#define ANSWER_S 30

/* Enqueues nothing: refused after a build and a recording, so that a grade takes a moment only. */
static const char source[] = "void vector_add(void) {}";

struct asked {
    char key[32], id[40]; /* id: once it was accepted */
};

static struct {
    struct server server;
    char folder[64], store[96];
    pthread_mutex_t lock; /* around server and asked */
    struct asked asked[MAX_JOBS];
    unsigned n_asked;
    atomic_bool over;
    atomic_uint resent; /* submissions repeated with their key because no answer came */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned pick(unsigned n)
{
    static unsigned state = 12345;
    state = state * 1103515245u + 12345u;
    return (state >> 16) % n;
}

static bool start(void)
{
    struct server server;
    const char *const arguments[] = {"--isolation", "reduced", "--store",  all.store, "--queue",
                                     "1000",        "--cache", all.folder, NULL};
    bool ok = server_start(&server, getenv("KGRADED"), arguments);
    pthread_mutex_lock(&all.lock);
    all.server = server;
    pthread_mutex_unlock(&all.lock);
    return ok;
}

static struct server server_now(void)
{
    pthread_mutex_lock(&all.lock);
    struct server server = all.server;
    pthread_mutex_unlock(&all.lock);
    return server;
}

/* One exchange; status 0 when the server was not there or died meanwhile. */
static void exchange(const char *text, struct answer *ret)
{
    memset(ret, 0, sizeof *ret);
    struct server server = server_now();
    int fd = server.port ? try_dial(&server) : -1;
    if (fd < 0)
        return;
    if (say(fd, text))
        hear(fd, ANSWER_S, ret);
    close(fd);
}

static bool submit(struct asked *a)
{
    static const char body[] =
        "{\"task\": \"vector_add\", \"device\": \"opencl\", \"source\": \"%s /* %s */\"}";
    char json[512], text[1024];
    snprintf(json, sizeof json, body, source, a->key);
    snprintf(text, sizeof text,
             "POST /grade?wait=0 HTTP/1.1\r\nHost: x\r\nIdempotency-Key: %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             a->key, strlen(json), json);
    struct answer answer;
    exchange(text, &answer);
    if (answer.status != 200 && answer.status != 202)
        return false;
    const char *id = strstr(answer.body, "\"id\"");
    return id && sscanf(id, "\"id\"%*[: ]\"%39[0-9a-f]\"", a->id) == 1;
}

static void *ask(void *data)
{
    const unsigned me = (unsigned)(size_t)data;
    for (unsigned n = 0; !atomic_load(&all.over) && n < MAX_JOBS / N_CLIENTS; n++) {
        struct asked a = {0};
        snprintf(a.key, sizeof a.key, "client-%u-%u", me, n);
        /* Until it is answered, with the same key, as a good client does. */
        while (!submit(&a)) {
            if (atomic_load(&all.over))
                return NULL;
            atomic_fetch_add(&all.resent, 1);
            sleep_s(0.05);
        }
        pthread_mutex_lock(&all.lock);
        all.asked[all.n_asked++] = a;
        pthread_mutex_unlock(&all.lock);
        sleep_s(0.4);
    }
    return NULL;
}

/* A random process below `parent` of the given depth: 1 the spawner, 2 or more a jail's.  0: none. */
static pid_t below(pid_t parent, bool deep)
{
    pid_t found[256];
    unsigned n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && (e = readdir(dir)) && n < 256;) {
        char path[300], line[512];
        int ppid = 0;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "re");
        const char *end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        if (f)
            fclose(f);
        if (end && sscanf(end, ") %*c %d", &ppid) == 1 && ppid == parent)
            found[n++] = (pid_t)atoi(e->d_name);
    }
    if (dir)
        closedir(dir);
    if (!n)
        return 0;
    pid_t child = found[pick(n)];
    pid_t deeper = deep ? below(child, true) : 0;
    return deeper ? deeper : child;
}

static int failures;

static void check(bool good, const char *what, unsigned figure)
{
    printf("%s %s: %u\n", good ? "ok    " : "FAILED", what, figure);
    failures += !good;
}

/* False: there was none of the kind that was chosen. */
static bool kill_one(unsigned counts[3])
{
    struct server server = server_now();
    unsigned kind = pick(3);
    pid_t spawner = below(server.pid, false);
    pid_t victim = kind == 0 ? server.pid : kind == 1 || !spawner ? spawner : below(spawner, true);
    if (victim == server.pid) {
        pthread_mutex_lock(&all.lock);
        all.server.port = 0; /* somebody else may get it */
        pthread_mutex_unlock(&all.lock);
    }
    if (victim <= 1 || kill(victim, SIGKILL))
        return false;
    counts[kind]++;
    return true;
}

/* Starts it again when it is dead. */
static bool revive(unsigned *starts)
{
    struct server server = server_now();
    if (waitpid(server.pid, NULL, WNOHANG) != server.pid)
        return true;
    unlink(server.log);
    ++*starts;
    return start();
}

static bool is_done(const char *id)
{
    char text[256];
    struct answer answer;
    snprintf(text, sizeof text, "GET /grades/%s HTTP/1.1\r\nHost: x\r\n\r\n", id);
    exchange(text, &answer);
    return answer.status == 200 && strstr(answer.body, "\"verdict\"") &&
           !strstr(answer.body, "\"verdict\":null") && !strstr(answer.body, "\"verdict\": null");
}

static unsigned count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    unsigned n = ~0u;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = (unsigned)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static void check_store(void)
{
    sqlite3 *db = NULL;
    sqlite3_open_v2(all.store, &db, SQLITE_OPEN_READONLY, NULL);
    check(count(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") ==
              1,
          "the store is whole", 1);
    unsigned rows = count(db, "SELECT count(*) FROM jobs");
    unsigned keys = count(db, "SELECT count(DISTINCT idempotency_key) FROM jobs");
    check(rows == keys, "jobs in the store, each key once", rows);
    sqlite3_close(db);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", all.folder);
    if (system(command))
        printf("cannot remove %s\n", all.folder);
}

int main(void)
{
    const char *wanted = getenv("KGRADE_KILLS");
    unsigned kills = wanted ? (unsigned)atoi(wanted) : DEFAULT_KILLS, counts[3] = {0}, starts = 1;
    if (!getenv("KGRADED")) {
        printf("skipped: KGRADED does not name the server\n");
        return 77;
    }
    strcpy(all.folder, "/tmp/kgrade-kills.XXXXXX");
    if (!mkdtemp(all.folder))
        return 1;
    snprintf(all.store, sizeof all.store, "%s/kgrade.db", all.folder);
    if (!start())
        return 1;
    pthread_t clients[N_CLIENTS];
    for (unsigned i = 0; i < N_CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, (void *)(size_t)i);

    for (unsigned killed = 0, tries = 0; killed < kills && tries < MAX_TRIES * kills; tries++) {
        sleep_s(0.05 + pick(1500) / 1000.0);
        if (!revive(&starts))
            return 1;
        killed += kill_one(counts);
    }
    atomic_store(&all.over, true);
    for (unsigned i = 0; i < N_CLIENTS; i++)
        pthread_join(clients[i], NULL);

    unsigned done = 0;
    for (double end = now_s() + SETTLE_S; now_s() < end && done < all.n_asked; sleep_s(0.05)) {
        revive(&starts);
        while (done < all.n_asked && is_done(all.asked[done].id))
            done++;
    }
    printf("killed: %u servers, %u spawners, %u in jails; %u starts; %u accepted, %u submissions "
           "sent again\n",
           counts[0], counts[1], counts[2], starts, all.n_asked, atomic_load(&all.resent));
    check(counts[0] + counts[1] + counts[2] == kills, "killed", counts[0] + counts[1] + counts[2]);
    check(all.n_asked > 0, "jobs accepted", all.n_asked);
    check(done == all.n_asked, "accepted jobs lost", all.n_asked - done);
    struct server server = server_now();
    check(server_stop(&server) == 0, "the last server ends cleanly", 1);
    check_store();
    remove_folder();
    return failures ? 1 : 0;
}
