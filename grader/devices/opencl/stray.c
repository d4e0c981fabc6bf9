#define _GNU_SOURCE
#include "stray.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../../sandbox/base/io.h"

/* The clock of one thread, as the kernel numbers them (clock_getcpuclockid has it for processes): its own scheduler's count,
 * to the ns.  The clock of the whole process lags behind by up to a tick for threads that are running. */
static clockid_t clock_of(int tid)
{
    enum { PER_THREAD = 4, SCHEDULER = 2 };
    return (clockid_t)((~(unsigned)tid << 3) | PER_THREAD | SCHEDULER);
}

int stray_watch(struct stray *stray, kgrade_error *err)
{
    cleanup_dir DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return fail_errno(err, "confine_failed", "Run `kgrade doctor`.",
                          "The replayer's threads cannot be listed");
    for (const struct dirent *task; (task = readdir(tasks));) {
        int tid = atoi(task->d_name);
        if (!isdigit((unsigned char)task->d_name[0]) || tid == gettid())
            continue;
        if (stray->n_clocks == STRAY_MAX_THREADS)
            return fail(err, "confine_failed", NULL, "The replayer has more than %u threads.",
                        STRAY_MAX_THREADS);
        stray->clocks[stray->n_clocks++] = clock_of(tid);
    }
    return 0;
}

static uint64_t read_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t)) /* the thread has ended */
        return 0;
    return (uint64_t)t.tv_sec * IO_NS_PER_S + (uint64_t)t.tv_nsec;
}

void stray_expect_none(struct stray *stray)
{
    for (size_t i = 0; i < stray->n_clocks; i++)
        stray->ended[i] = read_ns(stray->clocks[i]);
    stray->replayed = true;
}

void stray_forget(struct stray *stray)
{
    stray->replayed = false;
}

int stray_look(struct stray *stray, bool *ret_found, uint64_t *ret_ns, kgrade_error *err)
{
    uint64_t most = 0;
    for (size_t i = 0; i < stray->n_clocks && stray->replayed; i++) {
        uint64_t now = read_ns(stray->clocks[i]);
        if (now > stray->ended[i] + most)
            most = now - stray->ended[i];
    }
    *ret_found = most > STRAY_NS;
    *ret_ns = most;
    stray->in_a_row = *ret_found ? stray->in_a_row + 1 : 0;
    return stray->in_a_row < STRAY_MAX
               ? 0
               : fail(err, "replay_left_work", "Kernels must end, and start nothing that goes on.",
                      "Kernels go on working between replays, for %llu us before this one.",
                      (unsigned long long)(most / 1000));
}
