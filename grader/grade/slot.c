#define _GNU_SOURCE
#include "slot.h"

#include "../../sandbox/base/condition.h"
#include "jails.h"
#include "workers.h"

#define ASK_EVERY_NS (100 * IO_NS_PER_MS)

struct slot_waiter {
    struct slot_waiter *next;
    bool served;
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

int slot_take(struct device_slot *slot)
{
    struct slot_waiter waiter = {NULL, false}, **end = &slot->waiters;
    bool go_on = true;
    pthread_mutex_lock(&slot->lock);
    if (!slot->held) {
        slot->held = waiter.served = true;
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
    if (!go_on && !waiter.served)
        leave_line(slot, &waiter);
    pthread_mutex_unlock(&slot->lock);
    if (go_on) {
        graves_wait(&slot->graves); /* nothing of the grade before is left */
        return 0;
    }
    if (waiter.served)
        slot_give(slot);
    return -1;
}

void slot_give(struct device_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    struct slot_waiter *next = slot->waiters;
    if (next) {
        slot->waiters = next->next;
        next->served = true; /* the device passes from hand to hand */
        pthread_cond_broadcast(&slot->served);
    } else {
        slot->held = false;
    }
    pthread_mutex_unlock(&slot->lock);
}
