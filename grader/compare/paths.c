/*
 * One side after the other, each time in a fresh process: A B, B A, A B, ...  Calls of one candidate are timed by its own process,
 * so it can always lie about itself; it must not be able to lie about the other one.  In one process B could slow A in any way it
 * likes; in two at a time it could still keep the processor busy while A is timed.  So there is one at a time.
 */
#include "paths.h"

#include "../../sandbox/base/cleanup.h"
#include "../measure/statistics.h"

#define BATCHES 16u
#define BATCH_NS                                                                                   \
    (4 * IO_NS_PER_MS) /* about: less than the machine lets another program run at a stretch */
#define LEAST_CALLS 3u /* of a batch */
#define MOST_CALLS 100u

/*
 * A warm call's time in a fresh process.  Each call is waited for, so that it meets an empty queue: what kernels take of the processor
 * while the next call is made would be charged to the launch path.  Of the medians of batches it is the lower quartile: the other
 * programs of a busy machine add to many, a device that happens to be awake takes something off a few.
 */
static int take_turn(kgrade *engine, const struct record_request *request, double *ret_ns,
                     struct finding *f)
{
    __attribute__((cleanup(record_session_end))) struct record_session session =
        RECORD_SESSION_NONE;
    double ns[BATCHES];
    uint64_t wall_ns;
    if (record_session_begin(engine, request, &session, f) ||
        record_blocks(&session, 1, 1, false, ns, &wall_ns, f))
        return -1;
    uint64_t calls = BATCH_NS / (wall_ns ? wall_ns : 1);
    calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > MOST_CALLS ? MOST_CALLS : calls;
    for (unsigned i = 0; i < BATCHES; i++)
        if (record_blocks(&session, (unsigned)calls, 1, false, &ns[i], &wall_ns, f))
            return -1;
    statistics_sort(ns, BATCHES);
    *ret_ns = statistics_quantile(ns, BATCHES, 0.25);
    return 0;
}

/* Both sides, every second pair in the other order. */
static int take_pair(kgrade *engine, const struct record_request requests[2], unsigned pair,
                     unsigned pairs, struct telling *telling, double ns[2][PATHS_MOST_PROCESSES],
                     struct finding *f)
{
    for (unsigned i = 0; i < 2; i++) {
        unsigned side = (i + pair) % 2;
        if (telling_proceed(telling, "profiling", 2 * pair + i, 2 * pairs, f) ||
            take_turn(engine, &requests[side], &ns[side][pair], f))
            return -1;
    }
    return 0;
}

int paths_compare(kgrade *engine, const struct record_request requests[2], struct telling *telling,
                  struct paths *ret, struct finding *f)
{
    double ns[2][PATHS_MOST_PROCESSES];
    unsigned n = 0, pairs = PATHS_PROCESSES;
    while (n < pairs) {
        if (take_pair(engine, requests, n, pairs, telling, ns, f))
            return -1;
        ret->ratio = compare_groups(ns[0], ns[1], ++n);
        if (n == pairs && compare_is_vague(&ret->ratio))
            pairs = PATHS_MOST_PROCESSES;
    }
    for (unsigned side = 0; side < 2; side++) {
        statistics_sort(ns[side], n);
        ret->ns[side] = statistics_quantile(ns[side], n, 0.5);
    }
    return 0;
}
