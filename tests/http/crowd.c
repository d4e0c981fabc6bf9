/*
 * Many clients of several owners wait at once for one slot: what that costs the server, whether all are answered, and
 * whether the owners take turns.
 *
 *     KGRADED=build/release/bin/kgraded KGRADE_CROWD=500 tests/http/http_crowd
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

#define DEFAULT_CROWD 40
#define MAX_CROWD 1000
#define N_OWNERS 5
#define ANSWER_S 1500
#define LOOK_S 5 /* how long the idle server is looked at */

#define MAX_MEMORY (64u << 20)
#define MAX_CPU 0.05 /* of one core */
/* Each owner has as many jobs; served in turn, none is ever more than one ahead, and what is being graded or
 * answered at the moment of looking makes it two. */
#define MAX_LEAD 2

static int failures;

static void check(bool good, const char *what, double figure)
{
    printf("%s %s: %g\n", good ? "ok    " : "FAILED", what, figure);
    failures += !good;
}

/* User and system time of the process itself, in seconds. */
static double cpu_s(pid_t pid)
{
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f))
        sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system);
    if (f)
        fclose(f);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static bool make_token(const char *folder, unsigned owner, char token[128])
{
    char command[512];
    snprintf(command, sizeof command, "'%s' token owner%u --file '%s/tokens' 2>/dev/null",
             getenv("KGRADED"), owner, folder);
    FILE *p = popen(command, "r");
    bool ok = p && fscanf(p, "%127s", token) == 1;
    return p && pclose(p) == 0 && ok;
}

static int ask(const struct server *server, const char *token, unsigned number)
{
    char json[256], text[1024];
    /* Enqueues nothing: refused after a moment. */
    snprintf(json, sizeof json,
             "{\"task\": \"vector_add\", \"device\": \"opencl\","
             " \"source\": \"void vector_add(void) {} /* %u */\"}",
             number);
    snprintf(text, sizeof text,
             "POST /grade?wait=600 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             token, strlen(json), json);
    int fd = dial(server);
    return say(fd, text) ? fd : -1;
}

struct tally {
    unsigned answered, wrong, done[N_OWNERS], lead;
};

/* 200, or 202 when the wait was over before the grade: then it is asked for again. */
static void take_answer(struct pollfd *p, unsigned owner, struct tally *tally)
{
    static struct answer answer;
    hear(p->fd, 30, &answer);
    close(p->fd);
    p->fd = -1;
    tally->answered++;
    tally->done[owner]++;
    if (answer.status != 200)
        tally->wrong++;
    unsigned least = ~0u, most = 0;
    for (unsigned i = 0; i < N_OWNERS; i++) {
        least = tally->done[i] < least ? tally->done[i] : least;
        most = tally->done[i] > most ? tally->done[i] : most;
    }
    if (most - least > tally->lead)
        tally->lead = most - least;
}

int main(void)
{
    const char *wanted = getenv("KGRADE_CROWD");
    unsigned n = wanted ? (unsigned)atoi(wanted) : DEFAULT_CROWD;
    n = (n < MAX_CROWD ? n : MAX_CROWD) / N_OWNERS * N_OWNERS;
    if (!getenv("KGRADED")) {
        printf("skipped: KGRADED does not name the server\n");
        return 77;
    }
    char folder[] = "/tmp/kgrade-crowd.XXXXXX", tokens[N_OWNERS][128], path[64], store[64];
    if (!mkdtemp(folder))
        return 1;
    for (unsigned i = 0; i < N_OWNERS; i++) {
        if (!make_token(folder, i, tokens[i])) {
            printf("cannot make a token\n");
            return 1;
        }
    }
    snprintf(path, sizeof path, "%s/tokens", folder);
    snprintf(store, sizeof store, "%s/kgrade.db", folder);
    const char *const arguments[] = {
        "--isolation", "reduced", "--store",           store,  "--tokens",       path,
        "--queue",     "1000",    "--queue-per-owner", "1000", "--builds-ahead", "0",
        NULL};
    struct server server;
    if (!server_start(&server, getenv("KGRADED"), arguments))
        return 1;

    static struct pollfd crowd[MAX_CROWD];
    for (unsigned i = 0; i < n; i++)
        crowd[i] = (struct pollfd){.fd = ask(&server, tokens[i % N_OWNERS], i), .events = POLLIN};
    sleep_s(1);
    double cpu = cpu_s(server.pid), began = now_s();
    struct tally tally = {0};
    size_t memory = 0;
    bool looked = false;
    while (tally.answered < n && now_s() - began < ANSWER_S) {
        if (poll(crowd, n, 200) > 0)
            for (unsigned i = 0; i < n; i++)
                if (crowd[i].fd >= 0 && crowd[i].revents)
                    take_answer(&crowd[i], i % N_OWNERS, &tally);
        size_t now = server_memory(&server);
        memory = now > memory ? now : memory;
        if (!looked && now_s() - began > LOOK_S) {
            cpu = (cpu_s(server.pid) - cpu) / (now_s() - began);
            looked = true;
        }
    }
    printf("%u clients of %u owners, %.1f s\n", n, N_OWNERS, now_s() - began);
    check(tally.answered == n, "answered", tally.answered);
    check(tally.wrong == 0, "answered otherwise than 200", tally.wrong);
    check(tally.lead <= MAX_LEAD, "largest lead of an owner over another, grades", tally.lead);
    check(memory <= MAX_MEMORY || server_is_sanitized(&server), "memory of the server, MB",
          (double)memory / 1e6);
    if (looked) /* a figure for people: a busy machine must not fail a test */
        printf("       processor time of the server, share of a core: %.4f%s\n", cpu,
               cpu > MAX_CPU ? " (more than 0.05)" : "");
    check(server_stop(&server) == 0, "the server ends cleanly", 1);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || failures ? 1 : 0;
}
