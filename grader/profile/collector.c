#define _GNU_SOURCE
#include "collector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "../../sandbox/base/fail.h"

#define NS_PER_S 1000000000ull
#define POINTERS 256u /* names remembered by their address, per thread */
#define CALIBRATION_ROUNDS 255u
#define CALIBRATION_RANGES 32u
#define CALIBRATION_SETTLES 8u
#define CALIBRATION_CALL_ROUNDS 63u /* changing what is reported takes a while */
#define LEAST_CLOCK_NS                                                                             \
    (10 * 1000 * 1000ull) /* between the two readings that give a tick's length */

/* A text seen at an address, so that it need not be looked up again; what is there now is compared before it is believed. */
struct pointer {
    const char *text;
    unsigned name;
};

struct ring {
    atomic_bool taken; /* by a thread that lives */
    struct log_event *events;
    size_t n, room;
    uint64_t lost;
    struct pointer pointers[POINTERS];
};

static struct {
    struct ring rings[COLLECTOR_MAX_THREADS];
    atomic_uint used;       /* rings that a thread has had */
    pthread_key_t of_ended; /* gives back the ring of a thread that ends */
    bool has_key;
    atomic_ullong threads_lost;
    atomic_ullong numbers;
    atomic_uint domains;
    bool tsc;
    uint64_t opened_ticks, opened_ns;
    pthread_mutex_t names_lock;
    atomic_uint n_names;
    char names[LOG_MAX_NAMES][LOG_MAX_NAME];
} collector = {.names_lock = PTHREAD_MUTEX_INITIALIZER};

atomic_bool collector_active;
static _Thread_local struct ring *own;

/* --- the clock --- */

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
/* AMD64 Architecture Programmer's Manual volume 3, CPUID Fn8000_0007_EDX[8]; Intel gives the bit the same meaning. */
static bool has_invariant_tsc(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Without a fence: the processor may move it by some ten instructions, a fence would cost more than a range does. */
static inline uint64_t ticks(void)
{
    return collector.tsc ? __rdtsc() : monotonic();
}
#else
static bool has_invariant_tsc(void)
{
    return false;
}

static inline uint64_t ticks(void)
{
    return monotonic();
}
#endif

/* Both clocks at one moment: of some tries the one in which least time passed. */
static void read_both(uint64_t *ret_ticks, uint64_t *ret_ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 32; i++) {
        uint64_t before = ticks(), ns = monotonic(), after = ticks();
        if (after - before < best) {
            best = after - before;
            *ret_ticks = before + best / 2;
            *ret_ns = ns;
        }
    }
}

double collector_tick_ns(void)
{
    uint64_t now_ticks, now_ns;
    if (!collector.tsc)
        return 1;
    do
        read_both(&now_ticks, &now_ns);
    while (now_ns - collector.opened_ns < LEAST_CLOCK_NS);
    return (double)(now_ns - collector.opened_ns) / (double)(now_ticks - collector.opened_ticks);
}

const char *collector_clock_name(void)
{
    return collector.tsc ? "tsc" : "monotonic";
}

/* --- from begin to end --- */

static void give_back(void *ring);

static bool ring_open(struct ring *ring, size_t room)
{
    void *memory = mmap(NULL, room * sizeof *ring->events, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    memset(memory, 0, room * sizeof *ring->events);
    *ring = (struct ring){.events = memory, .room = room};
    return true;
}

int collector_open(enum collector_clock clock, kgrade_error *err)
{
    for (unsigned i = 0; i < COLLECTOR_MAX_THREADS; i++)
        if (!ring_open(&collector.rings[i], i ? COLLECTOR_OTHER_EVENTS : COLLECTOR_EVENTS))
            return fail(err, "out_of_memory", NULL, "There is no memory for the log of ranges.");
    collector.has_key = !pthread_key_create(&collector.of_ended, give_back);
    if (!collector.has_key)
        return fail(err, "out_of_memory", NULL, "There is no key for the logs of threads.");
    collector.rings[0].taken = true; /* for good: its thread makes the calls */
    collector.tsc = clock == COLLECTOR_CLOCK_BEST && has_invariant_tsc();
    collector.used = 1;
    collector.threads_lost = 0;
    collector.domains = LOG_DOMAIN_DEFAULT + 1;
    own = &collector.rings[0];
    read_both(&collector.opened_ticks, &collector.opened_ns);
    return 0;
}

void collector_close(void)
{
    collector_active = false;
    for (unsigned i = 0; i < COLLECTOR_MAX_THREADS; i++)
        if (collector.rings[i].events)
            munmap(collector.rings[i].events,
                   collector.rings[i].room * sizeof collector.rings[i].events[0]);
    memset(collector.rings, 0, sizeof collector.rings);
    if (collector.has_key)
        pthread_key_delete(collector.of_ended);
    collector.has_key = false;
    own = NULL;
}

void collector_resume(void)
{
    atomic_store(&collector_active, collector.rings[0].events != NULL);
}

void collector_pause(void)
{
    atomic_store(&collector_active, false);
}

void collector_clear(void)
{
    for (unsigned i = 0; i < COLLECTOR_MAX_THREADS; i++) {
        collector.rings[i].n = 0;
        collector.rings[i].lost = 0;
    }
    collector.threads_lost = 0;
}

/* --- names --- */

static unsigned find_name(const char *text)
{
    unsigned n = atomic_load_explicit(&collector.n_names, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (!strncmp(collector.names[i], text, LOG_MAX_NAME - 1))
            return i;
    return LOG_MAX_NAMES;
}

unsigned collector_name(const char *text)
{
    unsigned name = find_name(text);
    if (name < LOG_MAX_NAMES)
        return name;
    pthread_mutex_lock(&collector.names_lock);
    name = find_name(text);
    if (name == LOG_MAX_NAMES) {
        name = collector.n_names;
        if (name < LOG_MAX_NAMES) {
            bool last = name == LOG_MAX_NAMES - 1;
            strncpy(collector.names[name], last ? "(other names)" : text, LOG_MAX_NAME - 1);
            atomic_store_explicit(&collector.n_names, name + 1, memory_order_release);
        } else {
            name = LOG_MAX_NAMES - 1;
        }
    }
    pthread_mutex_unlock(&collector.names_lock);
    return name;
}

unsigned collector_names(void)
{
    return collector.n_names;
}

const char *collector_name_text(unsigned name)
{
    return name < collector.n_names ? collector.names[name] : "?";
}

unsigned collector_domain(const char *text)
{
    (void)text; /* ranges of all domains are told by their names */
    unsigned domain = collector.domains;
    while (domain < LOG_DOMAIN_API &&
           !atomic_compare_exchange_weak(&collector.domains, &domain, domain + 1))
        ;
    return domain < LOG_DOMAIN_API ? domain : LOG_DOMAIN_DEFAULT;
}

/* --- ranges --- */

static struct ring *claim_ring(void)
{
    for (unsigned i = 0; i < COLLECTOR_MAX_THREADS; i++) {
        struct ring *ring = &collector.rings[i];
        bool taken = false;
        if (!atomic_compare_exchange_strong_explicit(&ring->taken, &taken, true,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        if (pthread_setspecific(collector.of_ended, ring)) {
            atomic_store(&ring->taken, false);
            return NULL;
        }
        unsigned used = collector.used;
        while (used < i + 1 && !atomic_compare_exchange_weak(&collector.used, &used, i + 1))
            ;
        return own = ring;
    }
    return NULL;
}

static inline struct ring *ring_of_thread(void)
{
    struct ring *ring = own ? own : claim_ring();
    if (!ring)
        atomic_fetch_add_explicit(&collector.threads_lost, 1, memory_order_relaxed);
    return ring;
}

/* The next free entry, or NULL. */
static inline struct log_event *next_event(struct ring *ring)
{
    if (ring && ring->n < ring->room)
        return &ring->events[ring->n++];
    if (ring)
        ring->lost++;
    return NULL;
}

/* Called when a thread ends.  What a destructor that comes later still notes goes into whatever log is free then. */
static void give_back(void *data)
{
    struct ring *ring = data;
    struct log_event *e = collector_is_active() ? next_event(ring) : NULL;
    if (e)
        *e = (struct log_event){ticks(), LOG_THREAD_ENDED};
    own = NULL;
    atomic_store_explicit(&ring->taken, false, memory_order_release);
}

static inline unsigned name_at(struct ring *ring, const char *text)
{
    uintptr_t address = (uintptr_t)text;
    struct pointer *p = &ring->pointers[(address ^ address >> 8) % POINTERS];
    /* The text may have changed since: it need not be a literal. */
    if (p->text == text && !strncmp(collector.names[p->name], text, LOG_MAX_NAME - 1))
        return p->name;
    *p = (struct pointer){text, collector_name(text)};
    return p->name;
}

void collector_push_name(unsigned domain, unsigned name)
{
    if (!collector_is_active())
        return;
    struct log_event *e = next_event(ring_of_thread());
    if (e) {
        e->what = log_pack(LOG_PUSH, domain, name, 0);
        e->ticks = ticks();
    }
}

void collector_push(unsigned domain, const char *text)
{
    if (!collector_is_active())
        return;
    struct ring *ring = ring_of_thread();
    struct log_event *e = next_event(ring);
    if (e) {
        e->what = log_pack(LOG_PUSH, domain, name_at(ring, text ? text : "(no name)"), 0);
        e->ticks = ticks();
    }
}

void collector_pop(unsigned domain)
{
    if (!collector_is_active())
        return;
    uint64_t now = ticks();
    struct log_event *e = next_event(ring_of_thread());
    if (e)
        *e = (struct log_event){now, log_pack(LOG_POP, domain, 0, 0)};
}

uint64_t collector_start(unsigned domain, const char *text)
{
    if (!collector_is_active())
        return 0;
    struct ring *ring = ring_of_thread();
    struct log_event *e = next_event(ring);
    uint64_t number = 1 + atomic_fetch_add_explicit(&collector.numbers, 1, memory_order_relaxed);
    if (e) {
        e->what = log_pack(LOG_START, domain, name_at(ring, text ? text : "(no name)"), number);
        e->ticks = ticks();
    }
    return number;
}

void collector_end(uint64_t number)
{
    if (!number || !collector_is_active())
        return;
    uint64_t now = ticks();
    struct log_event *e = next_event(ring_of_thread());
    if (e)
        *e = (struct log_event){now, log_pack(LOG_END, 0, 0, number)};
}

/* --- what was noted --- */

unsigned collector_threads(void)
{
    return collector.used;
}

struct collector_log collector_log(unsigned thread)
{
    const struct ring *ring = &collector.rings[thread];
    return (struct collector_log){ring->events, ring->n, ring->lost};
}

uint64_t collector_threads_lost(void)
{
    return collector.threads_lost;
}

/* --- what it costs --- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

/* One range around n empty ones, left at the end of the log.  The ticks that the outer one took. */
static double nest(const char *text, unsigned n, struct ring *ring, size_t at)
{
    ring->n = at;
    collector_push(LOG_DOMAIN_DEFAULT, text);
    for (unsigned i = 0; i < n; i++) {
        collector_push(LOG_DOMAIN_DEFAULT, text);
        collector_pop(LOG_DOMAIN_DEFAULT);
    }
    collector_pop(LOG_DOMAIN_DEFAULT);
    return (double)(ring->events[ring->n - 1].ticks - ring->events[at].ticks);
}

/* How long the ranges read that begin at this entry of the log and lie side by side: the median. */
static double median_range(const struct ring *ring, size_t at)
{
    double lengths[CALIBRATION_RANGES];
    for (unsigned i = 0; i < CALIBRATION_RANGES; i++)
        lengths[i] = (double)(ring->events[at + 2 * i + 1].ticks - ring->events[at + 2 * i].ticks);
    return median(lengths, CALIBRATION_RANGES);
}

/* Whether the calling thread's log has room for what is noted while it is calibrated. */
static bool has_room(const struct ring *ring)
{
    return own == ring && ring->room - ring->n >= 2 * CALIBRATION_RANGES + 2;
}

static void conclude(double *leaf, double *complete, unsigned rounds, struct collector_cost *ret)
{
    double tick_ns = collector_tick_ns();
    ret->leaf_ns = median(leaf, rounds) * tick_ns;
    ret->complete_ns = median(complete, rounds) * tick_ns;
}

void collector_calibrate(struct collector_cost *ret)
{
    static const char text[] = "kgrade.calibration";
    double complete[CALIBRATION_ROUNDS], leaf[CALIBRATION_ROUNDS];
    struct ring *ring = &collector.rings[0];
    size_t at = ring->n;
    bool was_active = collector_is_active();
    *ret = (struct collector_cost){0};
    if (!has_room(ring))
        return;
    collector_resume();
    for (unsigned r = 0; r < CALIBRATION_ROUNDS; r++) {
        double outer = nest(text, CALIBRATION_RANGES, ring, at);
        leaf[r] = median_range(ring, at + 1);
        complete[r] = (outer - nest(text, 0, ring, at)) / CALIBRATION_RANGES;
    }
    atomic_store(&collector_active, was_active);
    ring->n = at;
    conclude(leaf, complete, CALIBRATION_ROUNDS, ret);
}

/* The ticks of one of CALIBRATION_RANGES calls, the last of some more: the first ones after a change are slow. */
static double time_calls(const struct collector_calls *calls, struct ring *ring, size_t at)
{
    for (unsigned i = 0; i < CALIBRATION_SETTLES; i++)
        calls->call(calls->data);
    ring->n = at;
    uint64_t start = ticks();
    for (unsigned i = 0; i < CALIBRATION_RANGES; i++)
        calls->call(calls->data);
    return (double)(ticks() - start) / CALIBRATION_RANGES;
}

void collector_calibrate_calls(const struct collector_calls *calls, struct collector_cost *ret)
{
    double complete[CALIBRATION_CALL_ROUNDS], leaf[CALIBRATION_CALL_ROUNDS];
    struct ring *ring = &collector.rings[0];
    size_t at = ring->n;
    bool left_one_each = true;
    *ret = (struct collector_cost){0};
    if (!has_room(ring))
        return;
    for (unsigned r = 0; r < CALIBRATION_CALL_ROUNDS && left_one_each; r++) {
        double alone = time_calls(calls, ring, at);
        calls->watch(calls->data, true);
        collector_resume();
        complete[r] = time_calls(calls, ring, at) - alone;
        collector_pause();
        calls->watch(calls->data, false);
        left_one_each = ring->n == at + 2 * CALIBRATION_RANGES;
        leaf[r] = left_one_each ? median_range(ring, at) - alone : 0;
    }
    ring->n = at;
    if (left_one_each)
        conclude(leaf, complete, CALIBRATION_CALL_ROUNDS, ret);
}
