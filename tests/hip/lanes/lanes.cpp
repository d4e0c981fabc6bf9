/*
 * Fibers for the lanes of a block.  Each runs until it must wait, for the block or for its wave, or ends.  When none can run, each wave with
 * lanes in an exchange goes on with those; when there is no such wave, all pass the barrier.  Blocks come one after the other.
 */
#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>

#include <vector>

#include "hip/hip_runtime.h"

uint3 lanes_thread, lanes_block;
dim3 lanes_threads, lanes_blocks;
void *lanes_shared;

namespace
{
constexpr size_t STACK = 256 << 10;
constexpr size_t VALUE = 16;
constexpr unsigned char NOTHING = 0xff;

enum class state { ready, in_exchange, at_barrier, done };

struct fiber {
    state now;
    bool started;
    jmp_buf where;
    uint3 thread;
};

/* Values of two exchanges: a lane may give its next one before another has taken its last. */
struct wave {
    unsigned exchanges;
    unsigned char given[2][warpSize][VALUE];
    bool takes_part[2][warpSize];
};

std::vector<fiber> fibers;
std::vector<wave> waves;
std::vector<char> stacks;
size_t current;
jmp_buf scheduler;
const std::function<void()> *kernel;

void wait(state why)
{
    fibers[current].now = why;
    if (!_setjmp(fibers[current].where))
        _longjmp(scheduler, 1);
}

void begin()
{
    (*kernel)();
    fibers[current].now = state::done;
    _longjmp(scheduler, 1);
}

void run(size_t index)
{
    fiber &f = fibers[index];
    current = index;
    lanes_thread = f.thread;
    if (_setjmp(scheduler))
        return;
    if (f.started)
        _longjmp(f.where, 1);
    f.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks.data() + index * STACK;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, begin, 0);
    setcontext(&context);
}

/* Lets the lanes of exchanges go on. false: there is none. */
bool finish_exchanges()
{
    bool any = false;
    for (size_t w = 0; w < waves.size(); w++) {
        bool here = false;
        for (size_t i = w * warpSize; i < fibers.size() && i < (w + 1) * warpSize; i++) {
            bool takes_part = fibers[i].now == state::in_exchange;
            waves[w].takes_part[waves[w].exchanges % 2][i % warpSize] = takes_part;
            if (takes_part)
                fibers[i].now = state::ready;
            here = here || takes_part;
        }
        waves[w].exchanges += here;
        any = any || here;
    }
    return any;
}

bool pass_barrier()
{
    bool any = false;
    for (fiber &f : fibers) {
        if (f.now != state::at_barrier)
            continue;
        f.now = state::ready;
        any = true;
    }
    return any;
}

void run_block()
{
    size_t n = 0;
    for (unsigned z = 0; z < lanes_threads.z; z++)
        for (unsigned y = 0; y < lanes_threads.y; y++)
            for (unsigned x = 0; x < lanes_threads.x; x++, n++) {
                fibers[n].now = state::ready;
                fibers[n].started = false;
                fibers[n].thread = {x, y, z};
            }
    for (wave &w : waves)
        w.exchanges = 0;
    do {
        for (size_t i = 0; i < n; i++)
            if (fibers[i].now == state::ready)
                run(i);
    } while (finish_exchanges() || pass_barrier());
}
} // namespace

int lanes_lane()
{
    return (int)(current % warpSize);
}

void __syncthreads()
{
    wait(state::at_barrier);
}

void lanes_exchange(void *value, size_t bytes, int from)
{
    wave &w = waves[current / warpSize];
    unsigned which = w.exchanges % 2;
    memcpy(w.given[which][lanes_lane()], value, bytes);
    wait(state::in_exchange);
    bool known = from >= 0 && from < warpSize && w.takes_part[which][from];
    if (known)
        memcpy(value, w.given[which][from], bytes);
    else
        memset(value, NOTHING, bytes);
}

unsigned long long lanes_ballot(bool value)
{
    wave &w = waves[current / warpSize];
    unsigned which = w.exchanges % 2;
    unsigned long long all = 0;
    w.given[which][lanes_lane()][0] = value;
    wait(state::in_exchange);
    for (int i = 0; i < warpSize; i++)
        all |= (unsigned long long)(w.takes_part[which][i] && w.given[which][i][0]) << i;
    return all;
}

void lanes_launch(dim3 blocks, dim3 threads, size_t shared, const std::function<void()> &work)
{
    size_t n = (size_t)threads.x * threads.y * threads.z;
    if (n == 0 || n > 1024 || shared > 65536) {
        fprintf(stderr, "A launch with %zu threads and %zu bytes of shared memory.\n", n, shared);
        abort();
    }
    std::vector<char> memory(shared + 16);
    fibers.assign(n, {});
    waves.assign((n + warpSize - 1) / warpSize, {});
    if (stacks.size() < n * STACK)
        stacks.resize(n * STACK);
    lanes_shared = (void *)(((uintptr_t)memory.data() + 15) / 16 * 16);
    lanes_threads = threads;
    lanes_blocks = blocks;
    kernel = &work;
    for (unsigned z = 0; z < blocks.z; z++)
        for (unsigned y = 0; y < blocks.y; y++)
            for (unsigned x = 0; x < blocks.x; x++) {
                lanes_block = {x, y, z};
                run_block();
            }
}
