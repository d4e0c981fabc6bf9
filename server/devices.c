#define _GNU_SOURCE
#include "devices.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/condition.h"
#include "../sandbox/base/fail.h"
#include "../sandbox/base/io.h"
#include "log.h"

struct devices {
    kgrade *engine;
    size_t n;
    char names[DEVICES_MOST][DEVICES_NAME_SIZE];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, ended;
};

static void add(struct devices *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->names[i], name))
            return;
    if (d->n < DEVICES_MOST)
        snprintf(d->names[d->n++], DEVICES_NAME_SIZE, "%s", name);
}

static void list(struct devices *d)
{
    cleanup_free char *text = NULL;
    if (kgrade_tasks_json(d->engine, &text, NULL))
        return;
    json_auto_t *json = json_loads(text, 0, NULL);
    size_t i, j;
    json_t *task, *device;
    json_array_foreach(json_object_get(json, "tasks"), i, task)
    {
        json_array_foreach(json_object_get(task, "devices"), j, device)
        {
            const char *name = json_string_value(json_object_get(device, "name"));
            if (name)
                add(d, name);
        }
    }
}

int devices_health(const struct devices *d, size_t i, kgrade_error *err)
{
    cleanup_free char *text = NULL;
    if (kgrade_health(d->engine, d->names[i], &text, err))
        return -1;
    json_auto_t *json = json_loads(text, 0, NULL);
    if (json_is_true(json_object_get(json, "ok")))
        return 0;
    const char *code = NULL, *message = NULL, *hint = NULL;
    if (json_unpack(json, "{s:{s:s, s:s, s:s}}", "reason", "code", &code, "message", &message,
                    "hint", &hint) == 0)
        return fail(err, code, hint, "%s", message);
    if (json_is_true(json_object_get(json, "suspect")))
        return fail(err, "device_suspect", "It is checked before the next grade.",
                    "A grade may have left the device unusable.");
    return fail(err, "device_unchecked", "The check is made at the start and takes some seconds.",
                "The device has not been checked yet.");
}

static bool is_stopped(struct devices *d)
{
    pthread_mutex_lock(&d->lock);
    bool stop = d->stop;
    pthread_mutex_unlock(&d->lock);
    return stop;
}

static bool goes_on(void *data)
{
    return !is_stopped(data);
}

static void check(struct devices *d, size_t i)
{
    kgrade_error before, after;
    if (!devices_health(d, i, &before) ||
        kgrade_health_check(d->engine, d->names[i], goes_on, d, NULL))
        return;
    if (!devices_health(d, i, &after))
        log_line(LOG_LEVEL_INFO, "device=%s works", d->names[i]);
    else if (strcmp(before.code, after.code))
        log_line(LOG_LEVEL_WARNING, "device=%s code=%s does not work: %s", d->names[i], after.code,
                 after.message);
}

/* False when the thread is to end. */
static bool wait_for(struct devices *d, unsigned seconds)
{
    uint64_t deadline = io_now() + seconds * IO_NS_PER_S;
    pthread_mutex_lock(&d->lock);
    while (!d->stop && condition_wait(&d->changed, &d->lock, deadline))
        ;
    bool stop = d->stop;
    pthread_mutex_unlock(&d->lock);
    return !stop;
}

static void *keep_checking(void *data)
{
    struct devices *d = data;
    /* A server that is ended as soon as it was started need not wait for a check. */
    bool go_on = wait_for(d, DEVICES_FIRST_S);
    while (go_on) {
        for (size_t i = 0; i < d->n && !is_stopped(d); i++)
            check(d, i);
        go_on = wait_for(d, DEVICES_RECHECK_S);
    }
    pthread_mutex_lock(&d->lock);
    d->ended = true;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void destroy(struct devices *d)
{
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int devices_open(kgrade *engine, struct devices **ret, kgrade_error *err)
{
    struct devices *d = calloc(1, sizeof *d);
    if (!d)
        return fail(err, "out_of_memory", NULL, "There is no memory for the devices.");
    d->engine = engine;
    list(d);
    condition_init(&d->changed);
    pthread_mutex_init(&d->lock, NULL);
    int failed = pthread_create(&d->thread, NULL, keep_checking, d);
    if (failed) {
        destroy(d);
        return fail(err, "thread_failed", NULL,
                    "The thread that checks devices does not start: %s.", strerror(failed));
    }
    *ret = d;
    return 0;
}

bool devices_close(struct devices *d, uint64_t deadline)
{
    if (!d)
        return true;
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->changed);
    while (!d->ended && in_time)
        in_time = condition_wait(&d->changed, &d->lock, deadline);
    bool ended = d->ended;
    pthread_mutex_unlock(&d->lock);
    if (!ended)
        return false;
    pthread_join(d->thread, NULL);
    destroy(d);
    return true;
}

size_t devices_count(const struct devices *d)
{
    return d->n;
}

const char *devices_name(const struct devices *d, size_t i)
{
    return d->names[i];
}
