/*
 * Whose turn it is.
 *
 * Each owner has a line on each device, first come, first served.  Owners with somebody in line take turns: one job of
 * each, then the next of each.  Who comes anew waits for one round at most, however many jobs others have in line.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "internal.h"

static struct owner *find_owner(struct jobs *jobs, const char *name)
{
    struct owner *owner;
    LIST_FOREACH(owner, &jobs->owners, next)
    {
        if (!strcmp(owner->name, name))
            return owner;
    }
    return NULL;
}

int schedule_count(struct entry *e, kgrade_error *err)
{
    struct owner *owner = find_owner(e->jobs, e->owner_name);
    if (!owner) {
        owner = calloc(1, sizeof *owner);
        if (!owner)
            return fail(err, "out_of_memory", NULL, "There is no memory for a job.");
        strcpy(owner->name, e->owner_name);
        for (size_t i = 0; i < JOBS_MAX_DEVICES; i++)
            TAILQ_INIT(&owner->lines[i]);
        LIST_INSERT_HEAD(&e->jobs->owners, owner, next);
    }
    owner->waiting++;
    e->owner = owner;
    return 0;
}

void schedule_uncount(struct entry *e)
{
    struct owner *owner = e->owner;
    e->owner = NULL;
    if (--owner->waiting)
        return;
    LIST_REMOVE(owner, next);
    free(owner);
}

/* Jobs of a device for which no thread is free. */
static unsigned must_wait(const struct device_queue *d, unsigned more)
{
    unsigned idle = d->jobs->n_workers - d->busy, pending = d->storing + d->queued + more;
    return pending > idle ? pending - idle : 0;
}

int schedule_admit(struct jobs *jobs, const struct device_queue *device, const char *owner_name,
                   unsigned owner_queue, kgrade_error *err)
{
    if (must_wait(device, 1) == 0)
        return 0;
    unsigned waiting = 0, quota = owner_queue ? owner_queue : jobs->options.queue_per_owner;
    for (unsigned i = 0; i < jobs->n_devices; i++)
        waiting += must_wait(&jobs->devices[i], 0);
    if (waiting >= jobs->options.queue)
        return fail(err, "queue_full",
                    "Send the request again after the seconds that Retry-After gives.",
                    "%u grades are waiting, which is as many as the server takes.", waiting);
    const struct owner *owner = find_owner(jobs, owner_name);
    if (quota && owner && owner->waiting >= quota)
        return fail(err, "quota_exceeded", "Wait for one of them before you send the next.",
                    "%u grades of yours are waiting, which is as many as you may have.",
                    owner->waiting);
    return 0;
}

/* The place of the last one in its owner's line: in each round one job of everybody comes before it, in its own round of
 * those only whose turn comes before its owner's. */
static unsigned last_place(const struct device_queue *d, const struct owner *whose)
{
    const struct owner *owner;
    unsigned position = d->busy, rounds = whose->lengths[d->index];
    bool before = true;
    TAILQ_FOREACH(owner, &d->turns, turns[d->index])
    {
        unsigned length = owner->lengths[d->index], most = before ? rounds : rounds - 1;
        if (owner == whose) {
            before = false;
            position += rounds - 1;
        } else {
            position += length < most ? length : most;
        }
    }
    return position;
}

void schedule_put(struct entry *e, bool first)
{
    struct device_queue *d = e->device;
    struct owner *owner = e->owner;
    struct line *line = &owner->lines[d->index];
    bool in_turns = !TAILQ_EMPTY(line);
    if (first && in_turns)
        TAILQ_REMOVE(&d->turns, owner, turns[d->index]);
    if (first) {
        TAILQ_INSERT_HEAD(line, e, line);
        TAILQ_INSERT_HEAD(&d->turns, owner, turns[d->index]);
    } else {
        TAILQ_INSERT_TAIL(line, e, line);
        if (!in_turns)
            TAILQ_INSERT_TAIL(&d->turns, owner, turns[d->index]);
    }
    e->queued = true;
    d->queued++;
    owner->lengths[d->index]++;
    d->misplaced = true;
    e->ahead = first ? d->busy : last_place(d, owner);
    entry_step(e, "queued", e->ahead, 0);
}

void schedule_remove(struct entry *e)
{
    struct device_queue *d = e->device;
    struct owner *owner = e->owner;
    struct line *line = &owner->lines[d->index];
    TAILQ_REMOVE(line, e, line);
    if (TAILQ_EMPTY(line))
        TAILQ_REMOVE(&d->turns, owner, turns[d->index]);
    e->queued = false;
    d->queued--;
    owner->lengths[d->index]--;
    d->misplaced = true;
    schedule_uncount(e);
}

struct entry *schedule_take(struct device_queue *d)
{
    struct owner *owner = TAILQ_FIRST(&d->turns);
    if (!owner)
        return NULL;
    struct entry *e = TAILQ_FIRST(&owner->lines[d->index]);
    /* The turn is over: to the end of the round, from which schedule_remove takes an owner whose line is empty. */
    TAILQ_REMOVE(&d->turns, owner, turns[d->index]);
    TAILQ_INSERT_TAIL(&d->turns, owner, turns[d->index]);
    d->busy++;
    d->running++;
    e->running = true;
    schedule_remove(e);
    e->ahead = 0;
    return e;
}

void schedule_place(struct device_queue *d)
{
    struct owner *owner;
    unsigned position = d->busy;
    bool more = d->misplaced;
    d->misplaced = false;
    TAILQ_FOREACH(owner, &d->turns, turns[d->index])
    {
        owner->cursor = TAILQ_FIRST(&owner->lines[d->index]);
    }
    while (more) {
        more = false;
        TAILQ_FOREACH(owner, &d->turns, turns[d->index])
        {
            struct entry *e = owner->cursor;
            if (!e)
                continue;
            e->ahead = position++;
            owner->cursor = TAILQ_NEXT(e, line);
            more = true;
        }
    }
}

static void tell_place(struct entry *e, void *data)
{
    (void)data;
    entry_step(e, "queued", e->ahead, 0);
}

void schedule_number(struct device_queue *d)
{
    schedule_place(d);
    schedule_each(d, tell_place, NULL);
}

void schedule_each(struct device_queue *d, void (*each)(struct entry *entry, void *data),
                   void *data)
{
    struct owner *owner, *next_owner;
    for (owner = TAILQ_FIRST(&d->turns); owner; owner = next_owner) {
        struct entry *e, *next;
        next_owner = TAILQ_NEXT(owner, turns[d->index]);
        for (e = TAILQ_FIRST(&owner->lines[d->index]); e; e = next) {
            next = TAILQ_NEXT(e, line); /* read first: with its last job the owner is gone */
            each(e, data);
        }
    }
}
