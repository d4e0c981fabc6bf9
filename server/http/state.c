#define _GNU_SOURCE
#include "state.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../devices.h"
#include "answer.h"

#define MAX_GAUGES 128
#define MAX_LABELS 96

/* Readiness. */

/* Adds one thing that grading takes; error NULL: it is there. */
static bool add_check(json_t *checks, const char *name, const kgrade_error *error)
{
    json_t *check = json_pack("{s:s, s:b}", "name", name, "ok", !error);
    if (error) {
        json_object_set_new(check, "code", json_string(error->code));
        json_object_set_new(check, "detail", json_string(error->message));
        if (error->hint[0])
            json_object_set_new(check, "hint", json_string(error->hint));
    }
    json_array_append_new(checks, check);
    return !error;
}

static bool add_store(json_t *checks, struct store *store)
{
    struct store_health health;
    store_health(store, &health);
    return add_check(checks, "store", health.works ? NULL : &health.error);
}

static bool add_work(json_t *checks, struct jobs *jobs)
{
    kgrade_error stuck;
    fail(&stuck, "grade_stuck", "The log tells which grade it is; a restart grades it again.",
         "A grade has made no progress for longer than all its deadlines allow.");
    return add_check(checks, "grading", jobs_alive(jobs) ? NULL : &stuck);
}

static bool add_device(json_t *checks, const struct devices *devices, size_t i)
{
    char label[MAX_LABELS];
    kgrade_error why;
    snprintf(label, sizeof label, "device %s", devices_name(devices, i));
    return add_check(checks, label, devices_health(devices, i, &why) ? &why : NULL);
}

enum MHD_Result state_ready(struct request *r)
{
    json_t *checks = json_array();
    bool store = add_store(checks, r->context->store);
    bool work = add_work(checks, r->context->jobs);
    bool device = false;
    for (size_t i = 0; i < devices_count(r->context->devices); i++)
        device = add_device(checks, r->context->devices, i) || device;

    /* Some device is enough: what is asked for another waits for it. */
    bool ready = store && work && device;
    struct jobs_counts counts;
    jobs_count(r->context->jobs, NULL, &counts);
    snprintf(r->outcome, sizeof r->outcome, ready ? "ready" : "not_ready");
    return answer_json(r, ready ? 200 : 503,
                       json_pack("{s:b, s:o, s:{s:i, s:i, s:i, s:f}}", "ready", ready, "checks",
                                 checks, "queue", "running", (int)counts.running, "waiting",
                                 (int)counts.waiting, "limit", (int)counts.limit, "oldest_s",
                                 counts.oldest_s));
}

/* Figures. */

struct figures {
    size_t n;
    struct metrics_gauge gauges[MAX_GAUGES];
    char labels[MAX_GAUGES][MAX_LABELS];
};

static void add(struct figures *f, const char *name, const char *help, const char *device,
                double value)
{
    if (f->n == MAX_GAUGES)
        return;
    char *label = f->labels[f->n];
    snprintf(label, MAX_LABELS, "device=\"%s\"", device ? device : "");
    size_t size = strlen(name);
    f->gauges[f->n++] = (struct metrics_gauge){
        .name = name,
        .help = help,
        .labels = device ? label : NULL,
        .is_counter = size > 6 && !strcmp(name + size - 6, "_total"),
        .value = value,
    };
}

static void add_jobs(struct figures *f, struct jobs *jobs, const struct devices *devices)
{
    struct jobs_counts counts;
    jobs_count(jobs, NULL, &counts);
    add(f, "kgrade_queue_limit", "Grades that may wait.", NULL, counts.limit);
    add(f, "kgrade_alive", "1 while grading makes progress or has nothing to do.", NULL,
        jobs_alive(jobs));
    struct jobs_counts each[DEVICES_MOST];
    size_t n = devices_count(devices);
    for (size_t i = 0; i < n; i++)
        jobs_count(jobs, devices_name(devices, i), &each[i]);
    for (size_t i = 0; i < n; i++)
        add(f, "kgrade_queue_waiting", "Grades that wait.", devices_name(devices, i),
            each[i].waiting);
    for (size_t i = 0; i < n; i++)
        add(f, "kgrade_queue_oldest_seconds", "How long the oldest waiting grade has waited.",
            devices_name(devices, i), each[i].oldest_s);
    for (size_t i = 0; i < n; i++)
        add(f, "kgrade_grades_running", "Grades that run.", devices_name(devices, i),
            each[i].running);
    for (size_t i = 0; i < n; i++)
        add(f, "kgrade_device_healthy", "1 when the device's last health kernel passed.",
            devices_name(devices, i), !devices_health(devices, i, NULL));
}

static void add_storage(struct figures *f, struct store *store)
{
    struct store_health health;
    store_health(store, &health);
    add(f, "kgrade_store_works", "1 when the last write reached the disk.", NULL, health.works);
    add(f, "kgrade_store_pending", "Writes that wait.", NULL, (double)health.pending);
    add(f, "kgrade_store_transactions_total", "Transactions written.", NULL, (double)health.writes);
    add(f, "kgrade_store_write_mean_seconds", "Mean time of recent transactions.", NULL,
        health.mean_write_s);
    add(f, "kgrade_store_write_max_seconds", "Longest of recent transactions.", NULL,
        health.max_write_s);
}

/* Resident memory in bytes; 0 where unknown. */
static double resident(void)
{
    cleanup_file FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long size, pages = 0;
    if (file && fscanf(file, "%llu %llu", &size, &pages) != 2)
        pages = 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_files(void)
{
    cleanup_dir DIR *dir = opendir("/proc/self/fd");
    double n = 0;
    while (dir && readdir(dir))
        n++;
    return n > 3 ? n - 3 : 0; /* ".", ".." and the folder itself */
}

static void add_process(struct figures *f, const struct request_context *context)
{
    struct connections_counts connections = connections_count(context->connections);
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    add(f, "kgrade_connections", "Open connections.", NULL, connections.open);
    add(f, "kgrade_connections_waiting", "Of these, those that wait for a grade.", NULL,
        connections.waiting);
    add(f, "kgrade_bodies_bytes", "Bodies of requests in memory.", NULL,
        (double)atomic_load(&context->buffered));
    add(f, "process_cpu_seconds_total", "Time on the processor, of the server alone.", NULL,
        (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9);
    add(f, "process_resident_memory_bytes", "Resident memory, of the server alone.", NULL,
        resident());
    add(f, "process_open_fds", "Open descriptors.", NULL, open_files());
}

static int may_read(const struct request *r, kgrade_error *err)
{
    enum server_metrics readers = r->context->options->metrics;
    if (readers == SERVER_METRICS_OFF)
        return fail(err, "not_found", "The setting \"metrics\" switches it on.",
                    "/metrics is switched off.");
    if (readers == SERVER_METRICS_OPERATORS && r->caller.role != ACCESS_OPERATOR)
        return fail(err, "forbidden", "Ask with the token of an operator.",
                    "/metrics is for operators.");
    return 0;
}

enum MHD_Result state_metrics(struct request *r)
{
    if (may_read(r, &r->problem))
        return answer_problem(r, &r->problem);
    cleanup_free struct figures *f = calloc(1, sizeof *f);
    if (!f) {
        answer_no_memory(&r->problem);
        return answer_problem(r, &r->problem);
    }
    add_jobs(f, r->context->jobs, r->context->devices);
    add_storage(f, r->context->store);
    add_process(f, r->context);
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_text(r, 200, "text/plain; version=0.0.4; charset=utf-8",
                       metrics_text(r->context->metrics, f->gauges, f->n));
}
