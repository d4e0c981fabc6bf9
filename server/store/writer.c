/*
 * The writer's thread: takes what others ask for, in order, and writes it in groups, one transaction
 * each.  While one transaction waits for the disk the next group gathers by itself.
 *
 * When a transaction fails, its adds are answered `store_unavailable` and everything else goes back
 * to the head of the queue.  From then on the store is `broken`: adds are refused at once, and every
 * RETRY_NS the first waiting write is tried alone (a write of no meaning when nothing waits), until
 * one succeeds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"
#include "database.h"
#include "internal.h"

#define RETRY_NS (500 * IO_NS_PER_MS)
#define RETRY_CLOSING_NS (50 * IO_NS_PER_MS)
#define LOCK_POLL_NS (2 * IO_NS_PER_MS)
#define HANG_NS (2 * IO_NS_PER_S) /* how long after its deadline a write may still return */
#define GROUP_OPS 512u
#define GROUP_BYTES (16u << 20)

/* --- The queue; its functions are called with the mutex held ------------------------------------ */

static void push(struct store *store, struct op *op)
{
    op->next = NULL;
    *store->last = op;
    store->last = &op->next;
    store->waiting++;
    store->waiting_adds += op->kind == OP_ADD;
}

/* Puts a list before what waits. */
static void push_front(struct store *store, struct op *list)
{
    if (!list)
        return;
    struct op **end = &list;
    for (; *end; end = &(*end)->next) {
        store->waiting++;
        store->waiting_adds += (*end)->kind == OP_ADD;
    }
    if (!store->first)
        store->last = end;
    *end = store->first;
    store->first = list;
}

/* Takes what `wanted` accepts, in order, until it says stop. */
enum choice { TAKE, LEAVE, STOP };

struct group {
    struct op *first;
    unsigned n;
    size_t bytes;
    unsigned most;
};

static enum choice choose_next(const struct op *op, struct group *group)
{
    bool full = group->n >= group->most || (group->n && group->bytes + op->bytes > GROUP_BYTES);
    return full ? STOP : TAKE;
}

static enum choice choose_adds(const struct op *op, struct group *group)
{
    (void)group;
    return op->kind == OP_ADD ? TAKE : LEAVE;
}

static void take(struct store *store, enum choice (*wanted)(const struct op *, struct group *),
                 struct group *group)
{
    struct op **end = &group->first, **at = &store->first;
    while (*at) {
        struct op *op = *at;
        enum choice choice = wanted(op, group);
        if (choice == STOP)
            break;
        if (choice == LEAVE) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        if (!op->next)
            store->last = at;
        op->next = NULL;
        *end = op;
        end = &op->next;
        group->n++;
        group->bytes += op->bytes;
        store->waiting--;
        store->waiting_adds -= op->kind == OP_ADD;
    }
    store->in_flight = group->n;
}

/* --- Answers ------------------------------------------------------------------------------------ */

static void answer(struct op *op, const kgrade_error *err)
{
    const kgrade_error *own = op->refused ? &op->error : err;
    if (op->done)
        op->done(op->data, op->existing[0] ? op->existing : NULL, own);
    free(op);
}

static void answer_all(struct op *list, const kgrade_error *err)
{
    while (list) {
        struct op *op = list;
        list = op->next;
        answer(op, err);
    }
}

/* Splits adds, and what is refused anyway, from what must be kept; both stay in order. */
static struct op *split_answerable(struct op **list)
{
    struct op *answerable = NULL, **end = &answerable, **at = list;
    while (*at) {
        struct op *op = *at;
        if (op->kind != OP_ADD && !op->refused) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        op->next = NULL;
        *end = op;
        end = &op->next;
    }
    return answerable;
}

/* --- The thread --------------------------------------------------------------------------------- */

static void note_success(struct store *store, uint64_t began)
{
    pthread_mutex_lock(&store->mutex);
    bool was_broken = store->broken;
    store->last_write = io_now();
    store->latencies[store->writes++ % STORE_LATENCIES] =
        (double)(store->last_write - began) / (double)IO_NS_PER_S;
    store->broken = false;
    store->in_flight = 0;
    pthread_mutex_unlock(&store->mutex);
    if (was_broken)
        log_line(LOG_LEVEL_INFO, "the store can write again");
}

static void note_failure(struct store *store, struct op *kept, const kgrade_error *error)
{
    pthread_mutex_lock(&store->mutex);
    bool was_broken = store->broken && !strcmp(store->error.message, error->message);
    store->broken = true;
    store->error = *error;
    store->retry_at = io_now() + (store->closing ? RETRY_CLOSING_NS : RETRY_NS);
    store->in_flight = 0;
    push_front(store, kept);
    pthread_mutex_unlock(&store->mutex);
    if (!was_broken)
        log_line(LOG_LEVEL_ERROR, "%s  %s", error->message, error->hint);
}

static void write_and_answer(struct store *store, struct op *group)
{
    kgrade_error error = {0};
    uint64_t began = io_now();
    if (write_group(store, group, &error) == 0) {
        note_success(store, began);
        answer_all(group, NULL);
        return;
    }
    struct op *answerable = split_answerable(&group);
    note_failure(store, group, &error);
    answer_all(answerable, &error);
}

/* Waits, with the mutex held, until there is something to do or the end has come. */
static void wait_for_work(struct store *store)
{
    for (;;) {
        uint64_t now = io_now();
        if (store->closing && (!store->waiting || now >= store->close_deadline))
            return;
        if (!store->broken) {
            if (store->waiting || store->trial_wanted)
                return;
            pthread_cond_wait(&store->wake, &store->mutex);
            continue;
        }
        if (store->waiting_adds || now >= store->retry_at)
            return;
        bool sooner = store->closing && store->close_deadline < store->retry_at;
        condition_wait(&store->wake, &store->mutex,
                       sooner ? store->close_deadline : store->retry_at);
    }
}

/* The end: what still waits is given up. */
static void give_up(struct store *store)
{
    kgrade_error error;
    struct group group = {.most = UINT32_MAX};
    take(store, choose_adds, &group);
    struct op *adds = group.first;
    struct op *ends = store->first;
    store->first = NULL;
    store->last = &store->first;
    for (const struct op *op = ends; op; op = op->next)
        store->unwritten += op->kind == OP_FINISH || op->kind == OP_CANCEL;
    store->waiting = store->in_flight = 0;
    if (store->broken)
        error = store->error;
    else
        fail_set(&error, "store_unavailable", NULL, "The store was closed before it was written.");
    pthread_mutex_unlock(&store->mutex);
    answer_all(adds, &error);
    answer_all(ends, &error);
    pthread_mutex_lock(&store->mutex);
}

static void *writer_main(void *data)
{
    struct store *store = data;
    pthread_mutex_lock(&store->mutex);
    for (;;) {
        wait_for_work(store);
        uint64_t now = io_now();
        if (store->closing && (!store->waiting || now >= store->close_deadline))
            break;
        bool resting = store->broken && now < store->retry_at;
        struct group group = {.most = store->broken ? 1 : GROUP_OPS};
        take(store, resting ? choose_adds : choose_next, &group);
        kgrade_error error = store->error;
        if (resting)
            store->in_flight = 0;
        else
            store->trial_wanted = false;
        pthread_mutex_unlock(&store->mutex);
        if (resting)
            answer_all(group.first, &error);
        else
            write_and_answer(store, group.first);
        pthread_mutex_lock(&store->mutex);
    }
    give_up(store);
    pthread_mutex_unlock(&store->mutex);
    store_close_database(store);
    pthread_mutex_lock(&store->mutex);
    store->has_ended = true;
    pthread_cond_broadcast(&store->ended);
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

/* Waits for another program's lock, but not beyond the end of the store. */
static int on_busy(void *data, int count)
{
    struct store *store = data;
    if ((uint64_t)count * LOCK_POLL_NS >= DATABASE_BUSY_MS * IO_NS_PER_MS)
        return 0;
    pthread_mutex_lock(&store->mutex);
    bool over = store->closing && io_now() >= store->close_deadline;
    pthread_mutex_unlock(&store->mutex);
    if (over)
        return 0;
    nanosleep(&(struct timespec){.tv_nsec = LOCK_POLL_NS}, NULL);
    return 1;
}

int writer_start(struct store *store, kgrade_error *err)
{
    sqlite3_busy_handler(store->db, on_busy, store);
    store->last_write = io_now();
    errno = pthread_create(&store->thread, NULL, writer_main, store);
    if (errno)
        return fail_errno(err, "store_failed", NULL, "Cannot start the thread of the store");
    store->has_thread = true;
    return 0;
}

void writer_put(struct store *store, struct op *op)
{
    pthread_mutex_lock(&store->mutex);
    push(store, op);
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->mutex);
}

/* A thread that hangs has a transaction under way, with in_flight operations. */
bool writer_stop(struct store *store, uint64_t deadline, unsigned *ret_unwritten)
{
    uint64_t latest = deadline < UINT64_MAX - HANG_NS ? deadline + HANG_NS : INT64_MAX;
    pthread_mutex_lock(&store->mutex);
    store->closing = true;
    store->close_deadline = deadline;
    if (store->broken)
        store->retry_at = io_now();
    pthread_cond_signal(&store->wake);
    while (!store->has_ended && io_now() < latest)
        condition_wait(&store->ended, &store->mutex, latest);
    bool ended = store->has_ended;
    *ret_unwritten = store->unwritten + (ended ? 0 : store->waiting + store->in_flight);
    pthread_mutex_unlock(&store->mutex);
    if (ended)
        pthread_join(store->thread, NULL);
    else
        pthread_detach(store->thread);
    return ended;
}
