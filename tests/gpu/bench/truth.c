/*
 * What a kernel takes, by two clocks that have nothing in common: the promise gate as kgrade uses it, and the host's clock
 * over chains of many calls (the slope between two lengths, so that what a launch costs drops out).  Warm caches, the same
 * inputs each time.  Both on the graph of one call of CANDIDATE.so, as vector_add of a task.
 *
 *   truth CANDIDATE.so N...     a line for each N: N, ns by the gate, by the chain
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grader/devices/cuda/arena.h"
#include "grader/devices/cuda/gate.h"
#include "grader/devices/cuda/rebuild.h"

#define SAMPLES 400
#define SHORT_CHAIN 32
#define LONG_CHAIN 160
#define ROUNDS 30

typedef void (*entry_fn)(const float *a, const float *b, float *c, int n, CUstream stream);

struct place {
    struct driver_context context;
    struct kernels kernels;
    struct gate gate;
    struct arena arena;
    struct rebuilt empty;
    CUstream stream;
    CUdeviceptr memory;
};

static void must(int failed, const kgrade_error *err, const char *what)
{
    if (failed) {
        fprintf(stderr, "%s failed: %s\n", what, err ? err->message : "");
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The mean of the middle half: finer than the clock's tick. */
static double middle(double *times, size_t n)
{
    double sum = 0;
    qsort(times, n, sizeof *times, compare);
    for (size_t i = n / 4; i < n - n / 4; i++)
        sum += times[i];
    return sum / (double)(n - n / 4 - n / 4);
}

static double gated(struct place *p, CUgraphExec exec)
{
    static double times[SAMPLES];
    kgrade_error err = {.code = ""};
    must(gate_pass(&p->gate, exec, p->stream, &err), &err, "a first replay");
    for (size_t i = 0; i < SAMPLES;) {
        struct replay_sample s;
        must(gate_sample(&p->gate, exec, p->stream, &s, &err), &err, "a sample");
        if (!s.is_void)
            times[i++] = (double)s.ns;
    }
    return middle(times, SAMPLES);
}

static CUgraph capture(struct place *p, entry_fn entry, int n)
{
    CUgraph graph;
    CUdeviceptr a = p->memory, b = a + 4ull * (size_t)n, c = b + 4ull * (size_t)n;
    must(cuStreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS, NULL,
         "beginning a capture");
    entry((const float *)a, (const float *)b, (float *)c, n,
          p->stream); /* NOLINT: a device's addresses */
    must(cuStreamEndCapture(p->stream, &graph) != CUDA_SUCCESS, NULL, "a capture");
    return graph;
}

/* [gate] -> n calls -> [stop], or only the calls. */
static CUgraphExec chain(struct place *p, CUgraph call, size_t n, bool with_gate)
{
    CUgraph graph;
    CUgraphExec exec;
    kgrade_error err = {.code = ""};
    CUdeviceptr mail = p->gate.mail_device;
    void *arguments[] = {&mail};
    must(cuGraphCreate(&graph, 0) != CUDA_SUCCESS, NULL, "a graph");
    struct launch_target target = {.graph = graph};
    if (with_gate)
        must(kernels_launch(&p->kernels, KERNEL_GATE, 1, 1, &target, arguments, &err), &err,
             "the gate");
    for (size_t i = 0; i < n; i++) {
        CUgraphNode node;
        must(cuGraphAddChildGraphNode(&node, graph, &target.last, target.last ? 1 : 0, call) !=
                 CUDA_SUCCESS,
             NULL, "a call in a graph");
        target.last = node;
    }
    if (with_gate)
        must(kernels_launch(&p->kernels, KERNEL_STOP, 1, 1, &target, arguments, &err), &err,
             "the stop");
    must(cuGraphInstantiate(&exec, graph, 0) != CUDA_SUCCESS, NULL, "instantiating");
    cuGraphDestroy(graph);
    return exec;
}

static double once(struct place *p, CUgraphExec exec)
{
    kgrade_error err = {.code = ""};
    uint64_t start = io_now();
    must(cuGraphLaunch(exec, p->stream) != CUDA_SUCCESS, NULL, "a launch");
    must(gate_wait(p->stream, start + GATE_TIMEOUT_NS, &err), &err, "a chain");
    return (double)(io_now() - start);
}

static double slope(struct place *p, CUgraph call)
{
    static double times[ROUNDS];
    CUgraphExec few = chain(p, call, SHORT_CHAIN, false), many = chain(p, call, LONG_CHAIN, false);
    for (int i = -3; i < ROUNDS; i++) {
        double difference = once(p, many) - once(p, few);
        if (i >= 0)
            times[i] = difference / (LONG_CHAIN - SHORT_CHAIN);
    }
    cuGraphExecDestroy(few);
    cuGraphExecDestroy(many);
    return middle(times, ROUNDS);
}

static void compare_clocks(struct place *p, entry_fn entry, int n)
{
    CUgraph call = capture(p, entry, n);
    CUgraphExec exec = chain(p, call, 1, true);
    double floor_ns = gated(p, p->empty.exec), by_gate = gated(p, exec) - floor_ns;
    printf("%d %.0f %.0f\n", n, by_gate, slope(p, call));
    cuGraphExecDestroy(exec);
    cuGraphDestroy(call);
}

int main(int argc, char **argv)
{
    static struct place p;
    kgrade_error err = {.code = ""};
    int most = 0;
    for (int i = 2; i < argc; i++)
        most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
    if (most <= 0) {
        fprintf(stderr, "usage: truth CANDIDATE.so N...\n");
        return 2;
    }
    must(driver_open(&p.context, CU_CTX_SCHED_SPIN, &err), &err, "the device");
    must(kernels_open(&p.kernels, &p.context, &err) || gate_open(&p.gate, &err) ||
             arena_create(&p.arena, &p.context, 0, 2ull << 20, &err),
         &err, "opening");
    must(cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
             cuMemAlloc(&p.memory, 12ull * (size_t)most) != CUDA_SUCCESS,
         NULL, "memory");
    const struct rebuild_place place = {&p.context, &p.arena, &p.kernels, &p.gate};
    must(rebuild_empty(&p.empty, &place, p.stream, &err), &err, "the empty graph");
    void *library = dlopen(argv[1], RTLD_NOW);
    void *symbol = library ? dlsym(library, "vector_add") : NULL;
    entry_fn entry;
    must(symbol == NULL, NULL, "loading the candidate");
    memcpy(&entry, &symbol, sizeof entry);
    for (int i = 2; i < argc; i++)
        compare_clocks(&p, entry, atoi(argv[i]));
    return 0;
}
