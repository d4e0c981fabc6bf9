/*
 * Workers started ahead of time.  A worker makes its context as soon as it runs, so one that was started while the
 * compiler worked, or while nobody asked for anything, costs no waiting.  Each serves one grade and is replaced after.
 *
 * What a grade takes is started when it begins, as far as it is missing.  Where spares are kept, a thread of the device, the
 * keeper, starts the others and refills after each grade.  It starts only as many interpreters at a time as a grade takes: they
 * import frameworks for seconds, perhaps while the next grade is timed.  An interpreter that ends by itself is not started
 * over and over: the keeper owes each kind no more than what is missing when a grade is over.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "../judge/judge.h"
#include "workers.h"

#define SPARE_LIFE_NS (20 * 3600 * IO_NS_PER_S)         /* below the sandbox's limit of a day */
#define KEEPER_AT_ONCE (SPARE_RECORDERS + SPARE_JUDGES) /* interpreters */
#define KEEPER_PAUSE_NS IO_NS_PER_S                     /* after so many */

/* --- kinds --- */

static bool is_python(unsigned kind)
{
    return kind < SPARE_REPLAYER;
}

static bool is_rehearsal(unsigned kind)
{
    return kind >= SPARE_REHEARSAL && kind <= SPARE_REHEARSALS_END;
}

/* Which interpreter a kind of recorder or rehearsal is of. */
static unsigned place_of(unsigned kind)
{
    return is_rehearsal(kind) ? kind - SPARE_REHEARSAL : kind;
}

static enum device_step step_of(unsigned kind)
{
    return is_rehearsal(kind)                                  ? STEP_REHEARSE
           : kind == SPARE_JUDGE || kind == SPARE_PYTHON_JUDGE ? STEP_JUDGE
           : kind == SPARE_REPLAYER                            ? STEP_REPLAY
                                                               : STEP_RECORD;
}

static const struct python *python_of(const kgrade *engine, unsigned kind)
{
    return kind == SPARE_PYTHON_JUDGE ? judge_interpreter(engine)
           : is_python(kind)          ? &engine->pythons.items[place_of(kind)]
                                      : NULL;
}

/* SPARE_KINDS: none is started ahead. */
static unsigned kind_of(const kgrade *engine, enum device_step step, const struct python *python)
{
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        if ((!is_python(kind) || python) && step_of(kind) == step &&
            python_of(engine, kind) == python)
            return kind;
    return SPARE_KINDS;
}

/* What one grade takes. */
static unsigned needed(unsigned kind)
{
    static const unsigned each[] = {[STEP_RECORD] = SPARE_RECORDERS,
                                    [STEP_REPLAY] = SPARE_REPLAYERS,
                                    [STEP_JUDGE] = SPARE_JUDGES,
                                    [STEP_REHEARSE] = SPARE_REHEARSALS};
    return each[step_of(kind)];
}

/* What is kept. */
static unsigned wanted(const kgrade *engine, unsigned kind)
{
    unsigned n = engine->options.python_spares ? engine->options.python_spares
                                               : KGRADE_DEFAULT_PYTHON_SPARES;
    if (!engine->options.keep_spares || !is_python(kind))
        return needed(kind);
    return kind == SPARE_PYTHON_JUDGE ? (n + 1) / 2 : n;
}

/* Whether the device and the interpreters that are named have a use for a kind. */
static bool exists(const kgrade *engine, const struct device *device, unsigned kind)
{
    if (!is_python(kind))
        return true;
    if (kind == SPARE_PYTHON_JUDGE)
        return engine->pythons.n > 0;
    return place_of(kind) < engine->pythons.n && (!is_rehearsal(kind) || device->rehearsal);
}

/* On a device that does not work they would only be in the way. */
static bool is_quarantined(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    bool is = slot->health.quarantined;
    pthread_mutex_unlock(&slot->lock);
    return is;
}

/* --- one device's, with the lock held --- */

static bool is_usable(const struct spare *spare)
{
    struct pollfd p = {.fd = jail_poll_fd(spare->worker.jail), .events = POLLIN};
    return poll(&p, 1, 0) == 0 && io_now() < spare->started_ns + SPARE_KEEP_NS;
}

static void empty(struct spare *spare)
{
    static const struct worker none = WORKER_NONE;
    spare->worker = none;
}

/* How many of a kind there are; those that cannot serve are cleared away. */
static unsigned count(struct spares *spares, unsigned kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < spares->n; i++) {
        struct spare *spare = &spares->items[i];
        if (!spare->worker.jail || spare->kind != kind)
            continue;
        if (is_usable(spare)) {
            n++;
            continue;
        }
        worker_end(&spare->worker);
        empty(spare);
    }
    return n;
}

/* The one that has had the longest time to get ready; NULL: none. */
static struct spare *find(struct spares *spares, unsigned kind)
{
    struct spare *oldest = NULL;
    if (!count(spares, kind))
        return NULL;
    for (size_t i = 0; i < spares->n; i++) {
        struct spare *spare = &spares->items[i];
        if (spare->worker.jail && spare->kind == kind &&
            (!oldest || spare->started_ns < oldest->started_ns))
            oldest = spare;
    }
    return oldest;
}

static int add(kgrade *engine, struct device_slot *slot, unsigned kind)
{
    for (size_t i = 0; i < slot->spares.n; i++) {
        struct spare *spare = &slot->spares.items[i];
        if (spare->worker.jail)
            continue;
        empty(spare);
        spare->kind = kind;
        spare->started_ns = io_now();
        return worker_start(engine, slot->device, step_of(kind), python_of(engine, kind),
                            SPARE_LIFE_NS, &spare->worker, NULL);
    }
    return -1;
}

static void fill(kgrade *engine, struct device_slot *slot, unsigned kind, unsigned n)
{
    for (unsigned there = count(&slot->spares, kind);
         there < n && there < wanted(engine, kind) && add(engine, slot, kind) == 0; there++)
        ;
}

static void end_all(struct spares *spares)
{
    for (size_t i = 0; i < spares->n; i++)
        if (spares->items[i].worker.jail) {
            worker_end(&spares->items[i].worker);
            empty(&spares->items[i]);
        }
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        spares->owed[kind] = 0;
}

/* --- the keeper --- */

/* Starts what is owed, but no more interpreters than are started at a time.  Whether something is left. */
static bool pay(kgrade *engine, struct device_slot *slot)
{
    struct spares *spares = &slot->spares;
    unsigned n_interpreters = 0;
    bool is_left = false;
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++) {
        while (spares->owed[kind] && !(is_python(kind) && n_interpreters == KEEPER_AT_ONCE)) {
            spares->owed[kind]--;
            n_interpreters += is_python(kind);
            fill(engine, slot, kind, count(spares, kind) + 1);
        }
        is_left = is_left || spares->owed[kind];
    }
    return is_left;
}

struct keeper {
    kgrade *engine;
    struct device_slot *slot;
};

static void *keep(void *data)
{
    struct keeper k = *(struct keeper *)data;
    struct spares *spares = &k.slot->spares;
    free(data);
    pthread_mutex_lock(&spares->lock);
    while (!spares->stop) {
        bool more = pay(k.engine, k.slot);
        uint64_t next = io_now() + KEEPER_PAUSE_NS;
        while (!spares->stop &&
               condition_wait(&spares->changed, &spares->lock, more ? next : IO_NO_DEADLINE) &&
               more)
            ;
    }
    pthread_mutex_unlock(&spares->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static bool start_keeper(kgrade *engine, struct device_slot *slot)
{
    sigset_t all, before;
    struct keeper *k = malloc(sizeof *k);
    if (!k)
        return false;
    *k = (struct keeper){engine, slot};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&slot->spares.keeper, NULL, keep, k) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started)
        free(k);
    return started;
}

static void refill(kgrade *engine, struct device_slot *slot)
{
    struct spares *spares = &slot->spares;
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++) {
        unsigned want = spares->asked[kind] ? wanted(engine, kind) : 0, n = count(spares, kind);
        spares->owed[kind] = n < want ? want - n : 0;
    }
    spares->has_keeper = spares->has_keeper || start_keeper(engine, slot);
    if (spares->has_keeper)
        pthread_cond_signal(&spares->changed);
    else
        while (pay(engine, slot)) /* no thread to be had */
            ;
}

static void settle(kgrade *engine, struct device_slot *slot)
{
    struct spares *spares = &slot->spares;
    if (engine->options.keep_spares) {
        if (!is_quarantined(slot))
            refill(engine, slot);
    } else if (spares->users == 0) {
        end_all(spares);
        for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
            spares->asked[kind] = false;
    }
}

/* --- for others --- */

bool worker_take_spare(kgrade *engine, const struct device *device, enum device_step step,
                       const struct python *python, struct worker *ret)
{
    struct spares *spares = &engine_slot(engine, device)->spares;
    unsigned kind = kind_of(engine, step, python);
    pthread_mutex_lock(&spares->lock);
    struct spare *spare = kind < SPARE_KINDS ? find(spares, kind) : NULL;
    if (spare) {
        *ret = spare->worker;
        empty(spare);
    }
    pthread_mutex_unlock(&spares->lock);
    return spare != NULL;
}

int worker_take(kgrade *engine, const struct device *device, enum device_step step,
                const struct python *python, struct worker *ret, kgrade_error *err)
{
    if (worker_take_spare(engine, device, step, python, ret))
        return 0;
    return worker_start(engine, device, step, python, SPARE_LIFE_NS, ret, err);
}

int spares_open(kgrade *engine, struct device_slot *slot, kgrade_error *err)
{
    struct spares *spares = &slot->spares;
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        if (exists(engine, slot->device, kind))
            spares->n += wanted(engine, kind);
    spares->items = calloc(spares->n, sizeof *spares->items);
    if (!spares->items) {
        spares->n = 0;
        return fail(err, "out_of_memory", NULL, "No memory for workers.");
    }
    return 0;
}

void spares_close(struct device_slot *slot)
{
    struct spares *spares = &slot->spares;
    pthread_mutex_lock(&spares->lock);
    spares->stop = true;
    pthread_cond_signal(&spares->changed);
    pthread_mutex_unlock(&spares->lock);
    if (spares->has_keeper)
        pthread_join(spares->keeper, NULL);
    end_all(spares);
    free(spares->items);
    spares->items = NULL;
    spares->n = 0;
}

void spares_end(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->spares.lock);
    end_all(&slot->spares);
    pthread_mutex_unlock(&slot->spares.lock);
}

void spares_begin(kgrade *engine, struct device_slot *slot, const struct task *task,
                  const struct python *python, bool rehearses)
{
    struct spares *spares = &slot->spares;
    if (!slot->device->start_ahead)
        return;
    bool takes[SPARE_KINDS + 1] = {false}, works = !is_quarantined(slot);
    takes[kind_of(engine, STEP_RECORD, python)] = true;
    takes[rehearses ? kind_of(engine, STEP_REHEARSE, python) : SPARE_KINDS] = true;
    takes[kind_of(engine, STEP_REPLAY, NULL)] = true;
    takes[kind_of(engine, STEP_JUDGE, task->python ? judge_interpreter(engine) : NULL)] = true;
    pthread_mutex_lock(&spares->lock);
    spares->users++;
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++) {
        spares->asked[kind] = spares->asked[kind] || takes[kind];
        if (takes[kind] && works)
            fill(engine, slot, kind, needed(kind));
    }
    pthread_mutex_unlock(&spares->lock);
}

void spares_over(kgrade *engine, struct device_slot *slot)
{
    if (!slot->device->start_ahead)
        return;
    pthread_mutex_lock(&slot->spares.lock);
    slot->spares.users--;
    settle(engine, slot);
    pthread_mutex_unlock(&slot->spares.lock);
}

void spares_renew(kgrade *engine, struct device_slot *slot)
{
    static const unsigned of_a_check[] = {SPARE_REPLAYER, SPARE_RECORDER, SPARE_JUDGE};
    struct spares *spares = &slot->spares;
    if (!slot->device->start_ahead)
        return;
    pthread_mutex_lock(&spares->lock);
    end_all(spares);
    for (size_t i = 0; i < sizeof of_a_check / sizeof of_a_check[0]; i++)
        fill(engine, slot, of_a_check[i], needed(of_a_check[i]));
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        if (spares->asked[kind] && !engine->options.keep_spares)
            fill(engine, slot, kind, needed(kind));
    pthread_mutex_unlock(&spares->lock);
}

void spares_settle(kgrade *engine, struct device_slot *slot)
{
    if (!slot->device->start_ahead)
        return;
    pthread_mutex_lock(&slot->spares.lock);
    settle(engine, slot);
    pthread_mutex_unlock(&slot->spares.lock);
}

/* Whether a task's judge would be an interpreter. */
static bool has_foreign(kgrade *engine, const struct device *device)
{
    bool has = false;
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    for (size_t i = 0; i < tasks->n; i++)
        has = has || (tasks->tasks[i]->python &&
                      task_devices_include(tasks->tasks[i]->devices, device->name));
    return has;
}

void spares_ask_all(kgrade *engine, struct device_slot *slot)
{
    if (!slot->device->start_ahead || !engine->options.keep_spares)
        return;
    bool takes_python = judge_takes_python(slot->device);
    bool judges_python =
        takes_python && judge_interpreter(engine) && has_foreign(engine, slot->device);
    pthread_mutex_lock(&slot->spares.lock);
    for (unsigned kind = 0; kind < SPARE_KINDS; kind++)
        slot->spares.asked[kind] =
            slot->spares.asked[kind] ||
            (kind == SPARE_PYTHON_JUDGE ? judges_python
             : is_python(kind)          ? takes_python && exists(engine, slot->device, kind)
                                        : true);
    pthread_mutex_unlock(&slot->spares.lock);
}
