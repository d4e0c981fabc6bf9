/*
 * tests/profile/planted.c for CUDA, with NVTX as it ships: 5 us of computing in a range of its own, memory made and given back
 * for 20 us, three questions about the device, ten launches in each call.
 *
 * What calls of the driver take is not known beforehand.  The candidate takes the time by its own clock, in calls of which a
 * profile notes nothing, and computes for as long in a range "clock.NAME": so that planted.jq finds in the same profile what it
 * must have attributed to the calls.  Noted and other calls take turns, so that both are of the same minute.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#define SPIN_NS 5000
#define MEMORY_NS 20000
#define QUERIES 3
#define LAUNCHES 10
#define FIRST_CALL 20 /* by which the clock goes: what is loaded at first is loaded */
#define MEMORY_CALLS 64 /* that the clock remembers, about */

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

/* What it takes on the whole: the mean of late, in calls that count. */
struct clock_of {
    double mean;
    long long taken; /* this time */
    void settle()
    {
        if (calls < FIRST_CALL)
            mean = (double)taken;
        else
            mean += ((double)taken - mean) / MEMORY_CALLS;
    }
};

/* Whether this call is noted: the questions are so short then that being told of triples what they take. */
static bool is_noted(long long questions_ns)
{
    static long long least;
    if (!least || questions_ns < least)
        least = questions_ns;
    return questions_ns > 2 * least;
}

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
    memory.taken = now() - start;
    nvtxRangePop();
    spin("clock.memory", (long long)memory.mean);

    nvtxRangePushA("planted.queries");
    start = now();
    for (int i = 0; i < QUERIES; i++) {
        int value;
        cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
    }
    queries.taken = now() - start;
    nvtxRangePop();
    spin("clock.queries", (long long)queries.mean);

    nvtxRangePushA("planted.launches");
    start = now();
    for (int i = 0; i < LAUNCHES; i++)
        add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    launches.taken = now() - start;
    nvtxRangePop();
    spin("clock.launches", (long long)launches.mean);

    if (!is_noted(queries.taken)) {
        memory.settle();
        queries.settle();
        launches.settle();
    }
}
