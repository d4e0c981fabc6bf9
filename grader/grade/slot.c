#define _GNU_SOURCE
#include "slot.h"

#include "../../sandbox/base/condition.h"
#include "jails.h"
#include "workers.h"

#define ASK_EVERY_NS (100 * IO_NS_PER_MS)

struct slot_waiter {
    struct slot_waiter *next;
    bool shares, served;
};

void slot_init(struct device_slot *slot, const struct device *device)
{
    slot->device = device;
    pthread_mutex_init(&slot->lock, NULL);
    pthread_mutex_init(&slot->spares.lock, NULL);
    condition_init(&slot->spares.changed);
    condition_init(&slot->served);
}

void slot_destroy(struct device_slot *slot)
{
    json_decref(slot->ceilings);
    bytes_free(&slot->health_recording);
    pthread_cond_destroy(&slot->served);
    pthread_cond_destroy(&slot->spares.changed);
    pthread_mutex_destroy(&slot->spares.lock);
    pthread_mutex_destroy(&slot->lock);
}

static void leave_line(struct device_slot *slot, const struct slot_waiter *waiter)
{
    struct slot_waiter **at = &slot->waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
}

/* With the lock held.  The device passes from hand to hand: to the first in line, and with one that shares to those after it
 * that do so, too. */
static void serve(struct device_slot *slot)
{
    struct slot_waiter *next;
    while ((next = slot->waiters) && (!slot->held || (next->shares && slot->sharers))) {
        slot->waiters = next->next;
        slot->held = next->served = true;
        slot->sharers += next->shares;
        pthread_cond_broadcast(&slot->served);
    }
}

/* With the lock held.  Whether nobody is in the way of who comes now. */
static bool is_open(const struct device_slot *slot, bool shares)
{
    return !slot->waiters && (!slot->held || (shares && slot->sharers));
}

static int take(struct device_slot *slot, bool shares)
{
    struct slot_waiter waiter = {NULL, shares, false}, **end = &slot->waiters;
    bool go_on = true;
    pthread_mutex_lock(&slot->lock);
    if (is_open(slot, shares)) {
        slot->held = waiter.served = true;
        slot->sharers += shares;
    } else {
        while (*end)
            end = &(*end)->next;
        *end = &waiter;
    }
    while (!waiter.served && go_on) {
        condition_wait(&slot->served, &slot->lock, io_now() + ASK_EVERY_NS);
        pthread_mutex_unlock(&slot->lock);
        go_on = jails_go_on(); /* without the lock: it calls back into the program */
        pthread_mutex_lock(&slot->lock);
    }
    if (!go_on && !waiter.served) {
        leave_line(slot, &waiter);
        serve(slot); /* it may have been in the way of others that share */
    }
    pthread_mutex_unlock(&slot->lock);
    if (go_on)
        return 0;
    if (waiter.served)
        slot_give(slot);
    return -1;
}

int slot_take(struct device_slot *slot)
{
    if (take(slot, false))
        return -1;
    graves_wait(&slot->graves); /* nothing of the grade before is left */
    return 0;
}

int slot_share(struct device_slot *slot)
{
    return take(slot, true);
}

void slot_give(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    if (slot->sharers)
        slot->sharers--;
    slot->held = slot->sharers > 0;
    serve(slot);
    pthread_mutex_unlock(&slot->lock);
}
