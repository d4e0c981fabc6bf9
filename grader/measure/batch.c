#include "batch.h"

#include <math.h>

static size_t draw_replays(double call_ns)
{
    size_t n = BATCH_MIN_REPLAYS + io_random_u64() % (BATCH_MAX_REPLAYS - BATCH_MIN_REPLAYS + 1);
    if (call_ns > BATCH_LONG_NS)
        n /= 2;
    return call_ns * (double)n > BATCH_MAX_NS ? (size_t)fmax(1, BATCH_MAX_NS / call_ns) : n;
}

/* One batch with the candidate and one without.  *ret_n 0: there are none here. */
static int time_call(const struct sampling_request *request, double call_ns, uint64_t seeds[2],
                     size_t *ret_n, double *ret_ns, struct finding *f)
{
    double with, without;
    size_t n;
    io_random(seeds, 2 * sizeof *seeds);
    if (replay_batch(request->candidate, draw_replays(call_ns), seeds[0], seeds[1], true, ret_n,
                     &without, f))
        return -1;
    if (*ret_n == 0)
        return 0;
    /* Fewer than in the first would not be comparable. */
    if (replay_batch(request->candidate, *ret_n, seeds[0], seeds[1], false, &n, &with, f))
        return -1;
    if (n != *ret_n)
        *ret_n = 0;
    else
        *ret_ns = (with - without) / (double)n;
    return 0;
}

int batch_check(const struct sampling_request *request, struct sampling *ret, struct finding *f)
{
    double call_ns = ret->candidate.time.median,
           most_ns = call_ns + BATCH_RELATIVE * call_ns + BATCH_NS, least_ns = INFINITY;
    for (unsigned i = 0; i < BATCH_TRIES && !(least_ns <= most_ns); i++) {
        uint64_t seeds[2];
        double ns = 0;
        size_t n;
        if (time_call(request, call_ns, seeds, &n, &ns, f))
            return -1;
        if (n == 0)
            return 0;
        if (ns < least_ns) {
            least_ns = ns;
            ret->batch_replays = n;
            ret->batch_ns = ns;
        }
        bool is_done = ns <= most_ns || i + 1 == BATCH_TRIES;
        if (is_done && sampling_keep_for_judge(request, seeds, ret, f))
            return -1;
    }
    if (least_ns > most_ns && ret->verdict == KGRADE_ACCEPTED)
        sampling_doubt(ret, KGRADE_SUSPECT, "clocks_disagree",
                       "The device's stamps say %.0f ns for a replay; the grader's own clock says "
                       "%.0f ns, over %zu in a row.",
                       call_ns, least_ns, ret->batch_replays);
    return 0;
}
