/* Making jobs, and finding them: in memory, in the store. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../grader/hash.h"
#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "internal.h"

#define MAX_DEADLINE_S 1e9 /* later ones are none */

/* --- what is asked for --- */

static int copy_name(char ret[STORE_NAME_SIZE], const char *name, const char *what,
                     kgrade_error *err)
{
    if (strlen(name) >= STORE_NAME_SIZE)
        return fail(err, "name_too_long", "Use a shorter name.",
                    "The name of the %s has more than %d bytes.", what, STORE_NAME_SIZE - 1);
    strcpy(ret, name);
    return 0;
}

/* The content hash of the task, and the language: the device's first when none was named. */
static int look_up_task(struct jobs *jobs, const kgrade_request *grade, char task_hash[HASH_HEX],
                        char language[STORE_NAME_SIZE], kgrade_error *err)
{
    cleanup_free char *text = NULL;
    if (jobs->engine.task_json(jobs->engine.kgrade, grade->task, &text, err))
        return -1;
    json_auto_t *json = json_loads(text, 0, NULL);
    const char *hash = json_string_value(json_object_get(json, "hash"));
    const char *first = grade->language;
    json_t *device;
    size_t i;
    json_array_foreach(json_object_get(json, "devices"), i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));
        if (!first && name && !strcmp(name, grade->device))
            first = json_string_value(json_array_get(json_object_get(device, "languages"), 0));
    }
    if (!hash || strlen(hash) >= HASH_HEX || !first)
        return fail(err, "unknown_device", "GET /tasks lists the tasks with their devices.",
                    "The task cannot be graded on this device.");
    strcpy(task_hash, hash);
    return copy_name(language, first, "language", err);
}

/* How a request is known again. */
struct wanted {
    const struct jobs_request *request;
    char language[STORE_NAME_SIZE];
    char task_hash[HASH_HEX], source_hash[HASH_HEX], request_hash[HASH_HEX];
};

static int understand(struct jobs *jobs, const struct jobs_request *r, struct wanted *ret,
                      kgrade_error *err)
{
    ret->request = r;
    if (r->idempotency_key && strlen(r->idempotency_key) > STORE_MAX_KEY)
        return fail(err, "idempotency_key_too_long", "Use a UUID.",
                    "The idempotency key has more than %d bytes.", STORE_MAX_KEY);
    if (look_up_task(jobs, &r->grade, ret->task_hash, ret->language, err))
        return -1;
    hash_hex(r->grade.source, r->grade.source_size, ret->source_hash);
    const char *parts[] = {r->grade.task, r->grade.device, ret->language, ret->source_hash,
                           "profile"};
    struct hash_part hashed[sizeof parts / sizeof parts[0]];
    /* Without a profile there is no fifth part: hashes of such requests are in stores of any age. */
    size_t n = sizeof parts / sizeof parts[0] - !r->grade.profile;
    for (size_t i = 0; i < n; i++)
        hashed[i] = (struct hash_part){parts[i], strlen(parts[i])};
    hash_parts(hashed, n, ret->request_hash);
    return 0;
}

/* Not listed, being stored; one reference. */
static struct entry *make_entry(struct jobs *jobs, const struct wanted *wanted, kgrade_error *err)
{
    const struct jobs_request *r = wanted->request;
    struct entry *e = entry_new(jobs, err);
    if (!e)
        return NULL;
    store_new_id(e->id);
    memcpy(e->request_hash, wanted->request_hash, sizeof e->request_hash);
    strcpy(e->language, wanted->language);
    e->state = JOB_STORING;
    e->created_ms = io_unix_ms();
    if (r->deadline_s > 0 && r->deadline_s < MAX_DEADLINE_S) {
        e->deadline_ns = io_now() + (uint64_t)(r->deadline_s * (double)IO_NS_PER_S);
        e->deadline_ms = e->created_ms + (int64_t)(r->deadline_s * 1e3);
    }
    if (copy_name(e->task, r->grade.task, "task", err) ||
        copy_name(e->device_name, r->grade.device, "device", err) ||
        copy_name(e->owner_name, r->owner, "owner", err))
        goto failed;
    if (r->idempotency_key) {
        e->told = true;
        e->key = strdup(r->idempotency_key);
        if (!e->key) {
            fail(err, "out_of_memory", NULL, "There is no memory for a job.");
            goto failed;
        }
    }
    return e;

failed:
    entry_unref(e);
    return NULL;
}

/* A job that says why there is none. */
static struct job *refuse(struct jobs *jobs, const struct wanted *wanted, const kgrade_error *why,
                          kgrade_error *err)
{
    struct entry *e = make_entry(jobs, wanted, err);
    if (!e)
        return NULL;
    e->state = JOB_REFUSED;
    entry_error(e, why);
    struct job *job = entry_handle(e, false, err);
    entry_unref(e);
    return job;
}

static struct job *refuse_key(struct jobs *jobs, const struct wanted *wanted, kgrade_error *err)
{
    kgrade_error why;
    fail_set(&why, "idempotency_key_reused", "Use a new key for each new request.",
             "This idempotency key came with another request before.");
    return refuse(jobs, wanted, &why, err);
}

/* --- finding --- */

/* A job as the store has it, for those who look at it. */
static struct job *from_row(struct jobs *jobs, struct store_row *row, bool reused,
                            kgrade_error *err)
{
    static const enum job_state states[] = {[STORE_QUEUED] = JOB_QUEUED,
                                            [STORE_RUNNING] = JOB_RUNNING,
                                            [STORE_DONE] = JOB_DONE,
                                            [STORE_CANCELLED] = JOB_CANCELLED};
    struct entry *e = entry_new(jobs, err);
    if (!e)
        return NULL;
    entry_copy_row(e, row);
    e->told = true;
    e->state = states[row->state];
    e->started_ms = row->started_ms;
    e->ended_ms = row->ended_ms;
    e->score = row->score;
    e->result = steal_pointer(&row->result);
    for (int v = KGRADE_ACCEPTED; v <= KGRADE_INFRASTRUCTURE_ERROR; v++)
        if (!strcmp(kgrade_verdict_name((kgrade_verdict)v), row->verdict))
            e->verdict = (kgrade_verdict)v;
    entry_event(e, "queued", 0, 0);
    if (e->n_events)
        e->events[0].at_ms = e->created_ms;
    if (e->state == JOB_CANCELLED)
        entry_cancelled_error(e, row->code);
    if (e->state == JOB_DONE || e->state == JOB_CANCELLED) {
        entry_event(e, e->state == JOB_DONE ? "done" : "cancelled", 1, 1);
        if (e->n_events)
            e->events[e->n_events - 1].at_ms = e->ended_ms;
    }
    struct job *job = entry_handle(e, reused, err);
    entry_unref(e);
    return job;
}

static bool is_id(const char *id)
{
    return strspn(id, "0123456789abcdef") == STORE_ID_SIZE - 1 && !id[STORE_ID_SIZE - 1];
}

static struct job *find_live(struct jobs *jobs, const char *id, bool reused, bool *ret_found,
                             kgrade_error *err)
{
    jobs_lock(jobs);
    struct entry *e = entry_find(jobs, id);
    struct job *job = e ? entry_handle(e, reused, err) : NULL;
    *ret_found = e != NULL;
    jobs_leave(jobs);
    return job;
}

static struct job *find(struct jobs *jobs, const char *id, bool reused, kgrade_error *err)
{
    struct store_row row = {0};
    bool found;
    struct job *job = find_live(jobs, id, reused, &found, err);
    if (found)
        return job;
    int got = store_get(jobs->store, id, STORE_WITH_RESULT, &row, err);
    if (got < 0)
        return NULL;
    if (got > 0) {
        fail(err, "unknown_grade", "GET /grades lists your grades.", "There is no such grade.");
        return NULL;
    }
    jobs_lock(jobs);
    job = from_row(jobs, &row, reused, err);
    jobs_leave(jobs);
    store_row_free(&row);
    return job;
}

struct job *jobs_find(struct jobs *jobs, const char *id, kgrade_error *err)
{
    if (!is_id(id)) {
        fail(err, "unknown_grade", "An id has 32 lower-case hex digits.",
             "There is no such grade.");
        return NULL;
    }
    return find(jobs, id, false, err);
}

/* --- submitting --- */

/* The live job that came with the same key; with another request, a refusal.  With the lock held. */
static struct job *repeat_live(struct jobs *jobs, const struct wanted *wanted, bool *ret_found,
                               kgrade_error *err)
{
    const struct jobs_request *r = wanted->request;
    struct entry *e =
        r->idempotency_key ? entry_find_key(jobs, r->owner, r->idempotency_key) : NULL;
    *ret_found = e != NULL;
    if (!e)
        return NULL;
    return strcmp(e->request_hash, wanted->request_hash) ? refuse_key(jobs, wanted, err)
                                                         : entry_handle(e, true, err);
}

static struct job *refuse_unlocked(struct jobs *jobs, const struct wanted *wanted,
                                   const kgrade_error *why, kgrade_error *err)
{
    jobs_lock(jobs);
    struct job *job = why ? refuse(jobs, wanted, why, err) : refuse_key(jobs, wanted, err);
    jobs_leave(jobs);
    return job;
}

/* As repeat_live, among those that are in the store only. */
static struct job *repeat_stored(struct jobs *jobs, const struct wanted *wanted, bool *ret_found,
                                 kgrade_error *err)
{
    const struct jobs_request *r = wanted->request;
    struct store_row row = {0};
    kgrade_error why;
    int got = r->idempotency_key
                  ? store_find_key(jobs->store, r->owner, r->idempotency_key, &row, &why)
                  : 1;
    *ret_found = got <= 0;
    struct job *job = NULL;
    if (got < 0)
        job = refuse_unlocked(jobs, wanted, &why, err);
    else if (got == 0 && strcmp(row.request_hash, wanted->request_hash))
        job = refuse_unlocked(jobs, wanted, NULL, err);
    else if (got == 0)
        job = find(jobs, row.id, true, err);
    store_row_free(&row);
    return job;
}

static struct job *reuse(struct jobs *jobs, const struct wanted *wanted, bool *ret_found,
                         kgrade_error *err)
{
    const struct jobs_request *r = wanted->request;
    struct store_row row = {0};
    kgrade_error why;
    int got = r->reuse ? store_find_same(jobs->store, r->owner, r->grade.task, wanted->task_hash,
                                         r->grade.device, wanted->language, wanted->source_hash,
                                         r->grade.profile, &row, &why)
                       : 1;
    *ret_found = got <= 0;
    struct job *job = NULL;
    if (got < 0) {
        job = refuse_unlocked(jobs, wanted, &why, err);
    } else if (got == 0) {
        jobs_lock(jobs);
        job = from_row(jobs, &row, true, err);
        jobs_leave(jobs);
    }
    store_row_free(&row);
    return job;
}

/* The store's writer calls it. */
static void added(void *data, const char *existing_id, const kgrade_error *err)
{
    struct entry *e = data;
    struct jobs *jobs = e->jobs;
    kgrade_error why;
    jobs_lock(jobs);
    e->device->storing--;
    if (!err && e->deadline_ns && io_now() >= e->deadline_ns && !e->end_code)
        e->end_code = "deadline_exceeded";
    if (err) {
        why = *err;
        if (existing_id) /* stored and ended while this one was on its way */
            fail_set(&why, "store_unavailable", "Send the request again with the same key.",
                     "Another request with the same idempotency key has just been stored.");
        entry_unlist(e);
        schedule_uncount(e);
        entry_error(e, &why);
        entry_state(e, JOB_REFUSED);
    } else if (jobs->closed) {
        schedule_uncount(e);
        entry_state(e, JOB_QUEUED);
    } else if (e->end_code) {
        schedule_uncount(e);
        entry_ref(e);
        work_cancel(e, e->end_code);
    } else {
        jobs_enqueue(e);
    }
    entry_unref(e);
    jobs_unlock(jobs);
}

/* A new job, which its handle and the store's callback hold.  With the lock held. */
static struct job *list_new(struct jobs *jobs, const struct wanted *wanted, kgrade_error *err)
{
    const struct jobs_request *r = wanted->request;
    if (jobs->draining) {
        fail(err, "shutting_down", "Send the request again when the server is back.",
             "The server is shutting down.");
        return NULL;
    }
    struct entry *e = make_entry(jobs, wanted, err);
    if (!e)
        return NULL;
    e->device = jobs_device(jobs, e->device_name, err);
    struct job *job = NULL;
    if (e->device && !schedule_admit(jobs, e->device, e->owner_name, r->owner_queue, err) &&
        !schedule_count(e, err)) {
        job = entry_handle(e, false, err);
        if (!job)
            schedule_uncount(e);
    }
    if (job) {
        entry_list(e);
        entry_ref(e);
        e->device->storing++;
    }
    entry_unref(e);
    return job;
}

static void store(struct jobs *jobs, const struct wanted *wanted, struct entry *e)
{
    const struct jobs_request *r = wanted->request;
    const struct store_request request = {.id = e->id,
                                          .task = e->task,
                                          .device = e->device_name,
                                          .language = e->language,
                                          .source = r->grade.source,
                                          .source_size = r->grade.source_size,
                                          .source_hash = wanted->source_hash,
                                          .owner = e->owner_name,
                                          .idempotency_key = e->key,
                                          .request_hash = wanted->request_hash,
                                          .created_ms = e->created_ms,
                                          .deadline_ms = e->deadline_ms,
                                          .profile = r->grade.profile};
    store_add(jobs->store, &request, added, e);
}

int jobs_submit(struct jobs *jobs, const struct jobs_request *request, struct job **ret,
                kgrade_error *err)
{
    struct wanted wanted = {0};
    bool found;
    if (understand(jobs, request, &wanted, err))
        return -1;
    jobs_lock(jobs);
    struct job *job = repeat_live(jobs, &wanted, &found, err);
    jobs_leave(jobs);
    if (!found)
        job = repeat_stored(jobs, &wanted, &found, err);
    if (!found)
        job = reuse(jobs, &wanted, &found, err);
    if (!found) {
        jobs_lock(jobs);
        job = repeat_live(jobs, &wanted, &found, err);
        if (!found)
            job = list_new(jobs, &wanted, err);
        jobs_leave(jobs);
        if (job && !found)
            store(jobs, &wanted, job->entry);
    }
    if (!job)
        return -1;
    *ret = job;
    return 0;
}
