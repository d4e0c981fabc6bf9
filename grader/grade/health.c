#define _GNU_SOURCE
#include "health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../quote.h"
#include "../replay/replay.h"
#include "baseline.h"
#include "jails.h"
#include "slot.h"
#include "workers.h"

/* --- the health kernel --- */

struct probe {
    const struct task *task;
    const struct task_case *at;
    uint64_t bytes;
};

static bool has_baseline(const struct task *task, const struct device *device)
{
    return task_devices_include(task->devices, device->name) &&
           task_file(task, device->languages[0].baseline);
}

/* The smallest case with something to compute, of the task called so (NULL: of all).  False: there is none. */
static bool choose_among(const struct task_set *tasks, const char *name,
                         const struct device *device, struct probe *ret)
{
    ret->bytes = UINT64_MAX;
    for (size_t t = 0; t < tasks->n; t++) {
        const struct task *task = tasks->tasks[t];
        if ((name && strcmp(task->name, name)) || task->python || !has_baseline(task, device))
            continue;
        for (size_t i = 0; i < task->n_cases; i++) {
            struct layout layout;
            uint64_t least = UINT64_MAX;
            if (!task_devices_include(task->cases[i].devices, device->name) ||
                task_layout(task, task->cases[i].dims, &layout, NULL))
                continue;
            for (size_t b = 0; b < layout.n_buffers; b++)
                least = layout.buffers[b].count < least ? layout.buffers[b].count : least;
            if (least > 0 && least < UINT64_MAX && layout.bytes < ret->bytes)
                *ret = (struct probe){task, &task->cases[i], layout.bytes};
        }
    }
    return ret->bytes < UINT64_MAX;
}

/* The plainest kernel there is says most about the device and least about itself. */
static bool choose(const struct task_set *tasks, const struct device *device, struct probe *ret)
{
    return choose_among(tasks, HEALTH_TASK, device, ret) || choose_among(tasks, NULL, device, ret);
}

static void make_key(const struct probe *probe, const json_t *info, char ret[HASH_HEX])
{
    cleanup_free char *hardware = json_dumps(info, JSON_SORT_KEYS | JSON_COMPACT);
    const struct hash_part parts[] = {
        {probe->task->hash, strlen(probe->task->hash)},
        {probe->at->dims, sizeof probe->at->dims},
        {hardware ? hardware : "", hardware ? strlen(hardware) : 0},
    };
    hash_parts(parts, sizeof parts / sizeof parts[0], ret);
}

/* The recording of the health kernel; made when there is none for this hardware. */
static int get_recording(kgrade *engine, struct device_slot *slot, const struct probe *probe,
                         struct replay *replay, struct finding *f)
{
    char key[HASH_HEX];
    make_key(probe, replay->info, key);
    if (slot->health_recording.size && !strcmp(key, slot->health_key))
        return 0;
    cleanup_bytes struct bytes recording = {0};
    if (baseline_record(engine, slot->device, probe->task, probe->at, 1, replay, &recording, f))
        return -1;
    bytes_free(&slot->health_recording);
    slot->health_recording = recording;
    recording = (struct bytes){0};
    memcpy(slot->health_key, key, sizeof key);
    return 0;
}

static int run_kernel(kgrade *engine, struct device_slot *slot, struct finding *f)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    struct probe probe;
    /* Without a baseline nothing can be graded on the device either. */
    if (!choose(tasks, slot->device, &probe))
        return 0;
    cleanup_replay struct replay replay = REPLAY_NONE;
    replay.timeout_ns = HEALTH_TIMEOUT_NS;
    if (replay_open(engine, slot->device, probe.task, probe.at, 1, &replay, f) ||
        get_recording(engine, slot, &probe, &replay, f) ||
        replay_give(&replay, &slot->health_recording, f))
        return -1;
    return baseline_verify(engine, slot->device, probe.task, probe.at, 1, HEALTH_TIMEOUT_NS,
                           &replay, f);
}

/* --- the check --- */

static void note(struct device_slot *slot, bool works, const struct finding *f, uint64_t start)
{
    struct health *h = &slot->health;
    pthread_mutex_lock(&slot->lock);
    h->checking = h->suspect = false;
    h->quarantined = !works;
    h->checked_ns = io_now();
    h->checked_at = (int64_t)time(NULL);
    h->took_ns = h->checked_ns - start;
    if (!works)
        h->reason = f->reason;
    pthread_mutex_unlock(&slot->lock);
}

/* With the slot held.  -1: the device does not work, or (`cancelled`) that could not be found out. */
static int check(kgrade *engine, struct device_slot *slot, struct finding *f)
{
    uint64_t start = io_now();
    pthread_mutex_lock(&slot->lock);
    slot->health.checking = true;
    pthread_mutex_unlock(&slot->lock);
    spares_renew(engine, slot);
    int result = run_kernel(engine, slot, f);
    if (result && !strcmp(f->reason.code, "cancelled")) {
        pthread_mutex_lock(&slot->lock);
        slot->health.checking = false;
        pthread_mutex_unlock(&slot->lock);
        spares_settle(engine, slot);
        return -1;
    }
    note(slot, result == 0, f, start);
    if (result)
        spares_end(slot);
    else
        spares_settle(engine, slot);
    return result;
}

/* With the slot's lock held. */
static bool is_due(const struct health *h)
{
    return !h->quarantined || io_now() >= h->checked_ns + HEALTH_RETRY_NS;
}

static int refuse(const kgrade_error *reason, struct finding *f)
{
    finding_free(f);
    return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "device_quarantined",
                       "Send the request again later; an operator should look at the device.",
                       "The device failed its last health check and takes no grades: %.800s",
                       reason->message);
}

int health_refuse(struct device_slot *slot, struct finding *f)
{
    pthread_mutex_lock(&slot->lock);
    const struct health *h = &slot->health;
    bool refused = h->quarantined && (h->checking || !is_due(h));
    const kgrade_error reason = h->reason;
    pthread_mutex_unlock(&slot->lock);
    return refused ? refuse(&reason, f) : 0;
}

int health_admit(kgrade *engine, struct device_slot *slot, struct finding *f)
{
    pthread_mutex_lock(&slot->lock);
    const struct health *h = &slot->health;
    bool doubtful = h->suspect || h->quarantined, due = is_due(h);
    kgrade_error reason = h->reason;
    pthread_mutex_unlock(&slot->lock);
    if (!doubtful)
        return 0;
    if (!due)
        return refuse(&reason, f);
    if (check(engine, slot, f) == 0)
        return 0;
    if (!strcmp(f->reason.code, "cancelled"))
        return -1;
    reason = f->reason;
    return refuse(&reason, f);
}

/* --- after a grade --- */

static bool is_suspect(const struct device *device, const struct finding *f, bool cancelled)
{
    if (cancelled) /* perhaps in the middle of a kernel that does not end */
        return device->fault_is_sticky;
    switch (f->verdict) {
    case KGRADE_RUNTIME_ERROR:
    case KGRADE_TIMEOUT:
        return device->fault_is_sticky;
    case KGRADE_INFRASTRUCTURE_ERROR:
        return device->fault_is_sticky || (f->retryable && !f->told);
    case KGRADE_REFUSED:
        return device->fault_is_sticky &&
               (f->hides_fault || strstr(f->reason.code, "out_of_memory"));
    case KGRADE_ACCEPTED:
    case KGRADE_WRONG_ANSWER:
    case KGRADE_BUILD_FAILED:
    case KGRADE_UNRESOLVED:
    case KGRADE_SUSPECT:
        break;
    }
    return false;
}

void health_after(kgrade *engine, struct device_slot *slot, const struct finding *finding,
                  bool cancelled)
{
    if (!is_suspect(slot->device, finding, cancelled))
        return;
    pthread_mutex_lock(&slot->lock);
    bool known = slot->health.quarantined;
    slot->health.suspect = true;
    slot->health.faults += !known;
    pthread_mutex_unlock(&slot->lock);
    if (known || cancelled || !engine->options.keep_spares)
        return;
    struct finding f = {.log = NULL};
    check(engine, slot, &f);
    finding_free(&f);
}

unsigned health_faults(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    unsigned faults = slot->health.faults;
    pthread_mutex_unlock(&slot->lock);
    return faults;
}

/* --- for callers --- */

static json_t *time_json(int64_t seconds)
{
    char text[32];
    time_t t = (time_t)seconds;
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    return json_string(text);
}

static json_t *health_json(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    struct health h = slot->health;
    pthread_mutex_unlock(&slot->lock);
    bool checked = h.checked_ns > 0;
    return json_pack(
        "{s:s, s:b, s:o, s:o, s:o, s:b, s:b, s:I}", "device", slot->device->name, "ok",
        checked && !h.quarantined && !h.suspect, "checked_at",
        checked ? time_json(h.checked_at) : json_null(), "took_ms",
        checked ? json_real((double)h.took_ns / (double)IO_NS_PER_MS) : json_null(), "reason",
        h.quarantined ? json_pack("{s:s, s:s, s:s}", "code", h.reason.code, "message",
                                  h.reason.message, "hint", h.reason.hint)
                      : json_null(),
        "suspect", h.suspect, "quarantined", h.quarantined, "faults", (json_int_t)h.faults);
}

static struct device_slot *find_slot(kgrade *engine, const char *name, kgrade_error *err)
{
    const struct device *device = name ? device_find(name) : NULL;
    struct device_slot *slot = device ? engine_slot(engine, device) : NULL;
    if (!slot)
        fail(err, "unknown_device", "`kgrade doctor` shows what each device needs.",
             "There is no device \"%s\"; built in are: %s.", quote(name).text, device_names());
    return slot;
}

/* -1: asked to stop. */
static int check_if_due(kgrade *engine, struct device_slot *slot)
{
    struct finding f = {.log = NULL};
    if (slot_take(slot))
        return -1;
    pthread_mutex_lock(&slot->lock);
    bool due = is_due(&slot->health);
    pthread_mutex_unlock(&slot->lock);
    int result = due ? check(engine, slot, &f) : 0;
    bool stopped = result && !strcmp(f.reason.code, "cancelled");
    slot_give(slot);
    finding_free(&f);
    return stopped ? -1 : 0;
}

int kgrade_health_check(kgrade *engine, const char *device, bool (*go_on)(void *data), void *data,
                        kgrade_error *err)
{
    struct device_slot *slot = find_slot(engine, device, err);
    if (!slot)
        return -1;
    jails_ask_while_waiting(go_on, data);
    spares_ask_all(engine, slot);
    int stopped = check_if_due(engine, slot);
    jails_ask_while_waiting(NULL, NULL);
    return stopped ? fail(err, "cancelled", NULL, "The check was cancelled.") : 0;
}

int kgrade_health(kgrade *engine, const char *device, char **ret_json, kgrade_error *err)
{
    struct device_slot *slot = find_slot(engine, device, err);
    if (!slot)
        return -1;
    json_t *json = health_json(slot);
    *ret_json = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The answer could not be written as JSON.");
}
