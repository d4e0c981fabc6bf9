/*
 * tests/profile/planted.c for CUDA, with NVTX as it ships: 5 us of computing in a range of its own, memory made and given back
 * for 20 us, three questions about the device, ten launches in each call.
 *
 * What calls of the driver take is not known beforehand.  The candidate takes the time by its own clock, in early calls, of which
 * a profile notes all but a few nothing, and then computes for as long in a range "clock.NAME": so that planted.jq finds in
 * the same profile what it must have attributed to the calls.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#define SPIN_NS 5000
#define MEMORY_NS 20000
#define QUERIES 3
#define LAUNCHES 10
/* Calls by which the clock goes: what is loaded at first is loaded, and the noted ones are the second half of some thousands. */
#define FIRST_CALL 20
#define LAST_CALL 1000

static __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static long long now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void spin(const char *range, long long ns)
{
    nvtxRangePushA(range);
    for (long long end = now() + ns; now() < end;)
        ;
    nvtxRangePop();
}

static int calls;

/* The mean over early calls, so far. */
struct clock_of {
    long long sum, n;
    long long settle(long long taken)
    {
        if (calls >= FIRST_CALL && calls < LAST_CALL) {
            sum += taken;
            n++;
        }
        return n ? sum / n : taken;
    }
};

static void allocate(int times)
{
    for (int i = 0; i < times; i++) {
        void *scratch;
        cudaMalloc(&scratch, 4096);
        cudaFree(scratch);
    }
}

/* How often that fits into MEMORY_NS.  All calls do the same work: it is found out once, in the first. */
static int find_pairs()
{
    const int tried = 16;
    allocate(tried);
    long long start = now();
    allocate(tried);
    long long each = (now() - start) / tried;
    return each < MEMORY_NS ? (int)(MEMORY_NS / (each ? each : 1)) : 1;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static clock_of memory, queries, launches;
    calls++;
    spin("planted.spin", SPIN_NS);

    static const int pairs = find_pairs();
    nvtxRangePushA("planted.memory");
    long long start = now();
    allocate(pairs);
    long long taken = now() - start;
    nvtxRangePop();
    spin("clock.memory", memory.settle(taken));

    nvtxRangePushA("planted.queries");
    start = now();
    for (int i = 0; i < QUERIES; i++) {
        int value;
        cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
    }
    taken = now() - start;
    nvtxRangePop();
    spin("clock.queries", queries.settle(taken));

    nvtxRangePushA("planted.launches");
    start = now();
    for (int i = 0; i < LAUNCHES; i++)
        add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    taken = now() - start;
    nvtxRangePop();
    spin("clock.launches", launches.settle(taken));
}
