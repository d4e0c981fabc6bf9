/*
 * Workers started ahead of time.  A worker makes its context as soon as it runs, so one that was started while the
 * compiler worked, or while nobody asked for anything, costs no waiting.  Each serves one grade and is replaced after.
 */
#include <poll.h>

#include "workers.h"

#define SPARE_LIFE_NS (20 * 3600 * IO_NS_PER_S) /* below the sandbox's limit of a day */

static size_t wanted(enum device_step step)
{
    static const size_t spares[] = {[STEP_RECORD] = SPARE_RECORDERS,
                                    [STEP_REPLAY] = SPARE_REPLAYERS,
                                    [STEP_JUDGE] = SPARE_JUDGES};
    return spares[step];
}

static bool is_dead(const struct worker *worker)
{
    struct pollfd p = {.fd = jail_poll_fd(worker->jail), .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

static void empty(struct spare *spare)
{
    static const struct worker none = WORKER_NONE;
    spare->worker = none;
}

/* A spare of this kind that is alive; the dead are cleared away.  NULL: none. */
static struct spare *find(struct device_slot *slot, enum device_step step,
                          const struct python *python)
{
    for (size_t i = 0; i < SPARES; i++) {
        struct spare *spare = &slot->spares[i];
        if (!spare->worker.jail || spare->step != step || spare->python != python)
            continue;
        if (!is_dead(&spare->worker))
            return spare;
        worker_end(&spare->worker);
        empty(spare);
    }
    return NULL;
}

int worker_take(kgrade *engine, const struct device *device, enum device_step step,
                const struct python *python, struct worker *ret, kgrade_error *err)
{
    struct device_slot *slot = engine_slot(engine, device);
    pthread_mutex_lock(&slot->spares_lock);
    struct spare *spare = find(slot, step, python);
    if (spare) {
        *ret = spare->worker;
        empty(spare);
    }
    pthread_mutex_unlock(&slot->spares_lock);
    return spare ? 0 : worker_start(engine, device, step, python, SPARE_LIFE_NS, ret, err);
}

static size_t count(const struct device_slot *slot, enum device_step step,
                    const struct python *python)
{
    size_t n = 0;
    for (size_t i = 0; i < SPARES; i++)
        n += slot->spares[i].worker.jail && slot->spares[i].step == step &&
             slot->spares[i].python == python;
    return n;
}

static int add(kgrade *engine, struct device_slot *slot, enum device_step step,
               const struct python *python)
{
    for (size_t i = 0; i < SPARES; i++) {
        struct spare *spare = &slot->spares[i];
        if (spare->worker.jail)
            continue;
        empty(spare);
        spare->step = step;
        spare->python = python;
        return worker_start(engine, slot->device, step, python, SPARE_LIFE_NS, &spare->worker,
                            NULL);
    }
    return -1;
}

static void fill(kgrade *engine, struct device_slot *slot, enum device_step step,
                 const struct python *python)
{
    find(slot, step, python); /* clears away the dead */
    while (count(slot, step, python) < wanted(step) && add(engine, slot, step, python) == 0)
        ;
}

/* With the lock held.  In the order in which a grade needs them; frameworks take seconds to import. */
static void fill_all(kgrade *engine, struct device_slot *slot, const struct python *python)
{
    for (size_t i = 0; i < engine->pythons.n; i++)
        if (engine->options.keep_spares || python == &engine->pythons.items[i])
            fill(engine, slot, STEP_RECORD, &engine->pythons.items[i]);
    fill(engine, slot, STEP_REPLAY, NULL);
    if (engine->options.keep_spares || !python)
        fill(engine, slot, STEP_RECORD, NULL);
    fill(engine, slot, STEP_JUDGE, NULL);
}

static void end_all(struct device_slot *slot)
{
    for (size_t i = 0; i < SPARES; i++)
        if (slot->spares[i].worker.jail)
            worker_end(&slot->spares[i].worker);
}

void spares_fill(kgrade *engine, struct device_slot *slot, const struct python *python)
{
    pthread_mutex_lock(&slot->spares_lock);
    fill_all(engine, slot, python);
    pthread_mutex_unlock(&slot->spares_lock);
}

void spares_end(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->spares_lock);
    end_all(slot);
    pthread_mutex_unlock(&slot->spares_lock);
}

void spares_begin(kgrade *engine, struct device_slot *slot, const struct python *python)
{
    if (!slot->device->start_ahead)
        return;
    pthread_mutex_lock(&slot->spares_lock);
    slot->spares_users++;
    fill_all(engine, slot, python);
    pthread_mutex_unlock(&slot->spares_lock);
}

void spares_over(kgrade *engine, struct device_slot *slot)
{
    if (!slot->device->start_ahead)
        return;
    pthread_mutex_lock(&slot->spares_lock);
    bool last = --slot->spares_users == 0;
    if (engine->options.keep_spares)
        fill_all(engine, slot, NULL);
    else if (last)
        end_all(slot);
    pthread_mutex_unlock(&slot->spares_lock);
}
