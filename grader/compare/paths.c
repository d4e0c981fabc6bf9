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
 * A warm call's time in a fresh process: the median of the quickest batch, for what else the machine does only ever adds to it.  Each
 * call is waited for, so that it meets an empty queue: what kernels take of the processor while the next call is made would be charged
 * to the launch path.
 */
static int take_turn(kgrade *engine, const struct record_request *request, double *ret_ns,
                     struct finding *f)
{
    __attribute__((cleanup(record_session_end))) struct record_session session =
        RECORD_SESSION_NONE;
    uint64_t wall_ns;
    if (record_session_begin(engine, request, &session, f) ||
        record_blocks(&session, 1, 1, false, ret_ns, &wall_ns, f))
        return -1;
    uint64_t calls = BATCH_NS / (wall_ns ? wall_ns : 1);
    calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > MOST_CALLS ? MOST_CALLS : calls;
    for (unsigned i = 0; i < BATCHES; i++) {
        double ns;
        if (record_blocks(&session, (unsigned)calls, 1, false, &ns, &wall_ns, f))
            return -1;
        *ret_ns = i == 0 || ns < *ret_ns ? ns : *ret_ns;
    }
    return 0;
}

int paths_compare(kgrade *engine, const struct record_request requests[2], struct telling *telling,
                  struct paths *ret, struct finding *f)
{
    double ns[2][PATHS_PROCESSES];
    for (unsigned turn = 0; turn < 2 * PATHS_PROCESSES; turn++) {
        unsigned pair = turn / 2, side = (turn + pair) % 2;
        if (telling_proceed(telling, "profiling", turn, 2 * PATHS_PROCESSES, f) ||
            take_turn(engine, &requests[side], &ns[side][pair], f))
            return -1;
    }
    ret->ratio = compare_pairs(ns[0], ns[1], PATHS_PROCESSES);
    for (unsigned side = 0; side < 2; side++) {
        statistics_sort(ns[side], PATHS_PROCESSES);
        ret->ns[side] = statistics_quantile(ns[side], PATHS_PROCESSES, 0.5);
    }
    return 0;
}
