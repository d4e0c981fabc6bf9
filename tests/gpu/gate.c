/*
 * The gate by itself: the floor is steady, few samples are void, and a graph of one known kernel is timed as a host clock over
 * many launches times it, and as a batch does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "grader/devices/cuda/arena.h"
#include "grader/devices/cuda/batch.h"
#include "grader/devices/cuda/ceilings.h"
#include "grader/devices/cuda/gate.h"
#include "grader/devices/cuda/rebuild.h"

#define SAMPLES 200
#define MAX_VOID (SAMPLES / 10)
#define MAX_FLOOR_NS 5000.0
#define COPY_BYTES (64ull << 20)
#define COPY_CHAIN 64
#define BATCHED 16
#define AGREEMENT 0.10 /* of gate and host clock, for a copy much longer than the clock's step */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(const double *sorted, size_t n, double q)
{
    return sorted[(size_t)(q * (double)(n - 1))];
}

static void die(const kgrade_error *err, const char *what)
{
    printf("%s: %s: %s\n", what, err->code, err->message);
    exit(1);
}

/* Sorted samples; *ret_voids: how many had to be thrown away. */
static void sample(struct gate *gate, CUgraphExec exec, CUstream stream, double times[SAMPLES],
                   int *ret_voids)
{
    kgrade_error err;
    *ret_voids = 0;
    for (int i = 0; i < SAMPLES;) {
        struct replay_sample s;
        if (gate_sample(gate, exec, stream, &s, &err))
            die(&err, "sampling");
        if (s.is_void && ++*ret_voids > SAMPLES) {
            printf("more than %d samples are void\n", SAMPLES);
            exit(1);
        }
        if (!s.is_void)
            times[i++] = (double)s.ns;
    }
    qsort(times, SAMPLES, sizeof *times, compare);
}

/* [gate] -> copy -> [stop], made by hand. */
static struct rebuilt copy_graph(const struct rebuild_place *place, CUdeviceptr from,
                                 CUdeviceptr to, int chain, bool gated)
{
    CUgraph graph;
    CUgraphExec exec;
    kgrade_error err;
    uint64_t n = COPY_BYTES / 16;
    CUdeviceptr mail = place->gate->mail_device;
    void *copy[] = {&from, &to, &n}, *post[] = {&mail};
    if (cuGraphCreate(&graph, 0))
        exit(1);
    struct launch_target target = {.graph = graph};
    int failed = gated && kernels_launch(place->kernels, KERNEL_GATE, 1, 1, &target, post, &err);
    for (int i = 0; i < chain && !failed; i++)
        failed = kernels_launch(place->kernels, KERNEL_COPY, kernels_blocks(place->kernels, n),
                                KERNELS_THREADS, &target, copy, &err);
    if (failed || (gated && kernels_launch(place->kernels, KERNEL_STOP, 1, 1, &target, post, &err)))
        die(&err, "building a graph");
    if (cuGraphInstantiate(&exec, graph, 0))
        exit(1);
    return (struct rebuilt){.graph = graph, .exec = exec};
}

/* The best of a few batches, by the host's clock. */
static double batch_time(const struct rebuild_place *place, struct gate *gate,
                         const struct rebuilt *middle, CUstream stream)
{
    kgrade_error err = {.code = ""};
    const struct layout layout = {.n_buffers = 0};
    const struct restore restore = {.n = 0};
    const struct batch_request request = {place, NULL, &layout, middle, &restore, BATCHED, 1, 2};
    struct batch batch;
    size_t n;
    double best = INFINITY;
    if (batch_open(&batch, &request, stream, &n, &err))
        die(&err, "making a batch");
    for (int i = 0; i < 10 && n == BATCHED; i++) {
        uint64_t start = io_now();
        if (batch_run(&batch, gate, stream, &err))
            die(&err, "running a batch");
        best = fmin(best, (double)(io_now() - start));
    }
    batch_close(&batch);
    return best;
}

static double host_time(CUgraphExec exec, CUstream stream)
{
    kgrade_error err;
    double best = INFINITY;
    for (int i = 0; i < 10; i++) {
        uint64_t start = io_now();
        if (cuGraphLaunch(exec, stream) || gate_wait(stream, start + GATE_TIMEOUT_NS, &err))
            exit(1);
        double ns = (double)(io_now() - start);
        if (i > 1 && ns < best)
            best = ns;
    }
    return best;
}

int main(void)
{
    struct driver_context context;
    struct kernels kernels;
    struct gate gate;
    struct arena arena;
    struct rebuilt empty;
    CUstream stream;
    CUdeviceptr memory;
    kgrade_error err = {.code = ""};
    if (!have_card())
        return SKIPPED;
    if (driver_open(&context, CU_CTX_SCHED_SPIN, &err) || kernels_open(&kernels, &context, &err) ||
        gate_open(&gate, &err) || arena_create(&arena, &context, 4ull << 20, 2ull << 20, &err))
        die(&err, "opening");
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&memory, 2 * COPY_BYTES))
        return 1;
    const struct rebuild_place place = {&context, &arena, &kernels, &gate};
    if (rebuild_empty(&empty, &place, stream, &err) || gate_pass(&gate, empty.exec, stream, &err))
        die(&err, "the empty graph");

    double floor[SAMPLES], times[SAMPLES];
    int voids, copy_voids;
    sample(&gate, empty.exec, stream, floor, &voids);
    struct rebuilt gated = copy_graph(&place, memory, memory + COPY_BYTES, 1, true);
    if (gate_pass(&gate, gated.exec, stream, &err))
        die(&err, "the copy");
    sample(&gate, gated.exec, stream, times, &copy_voids);
    double by_gate = quantile(times, SAMPLES, 0.5) - quantile(floor, SAMPLES, 0.5);
    double one =
        host_time(copy_graph(&place, memory, memory + COPY_BYTES, COPY_CHAIN, false).exec, stream);
    double three = host_time(
        copy_graph(&place, memory, memory + COPY_BYTES, 3 * COPY_CHAIN, false).exec, stream);
    double by_host = (three - one) / (2 * COPY_CHAIN);
    double by_batch =
        (batch_time(&place, &gate, &gated, stream) - batch_time(&place, &gate, &empty, stream)) /
        BATCHED;

    printf("floor: median %.0f ns, p10 %.0f, p90 %.0f; %d of %d void\n",
           quantile(floor, SAMPLES, 0.5), quantile(floor, SAMPLES, 0.1),
           quantile(floor, SAMPLES, 0.9), voids, SAMPLES + voids);
    printf("copy of %llu MiB: %.0f ns by the gate (p10 %.0f, p90 %.0f; %d void), %.0f ns by the "
           "host's clock, %.0f ns by a batch of %d\n",
           COPY_BYTES >> 20, by_gate, quantile(times, SAMPLES, 0.1), quantile(times, SAMPLES, 0.9),
           copy_voids, by_host, by_batch, BATCHED);
    bool good = voids <= MAX_VOID && copy_voids <= MAX_VOID &&
                quantile(floor, SAMPLES, 0.5) < MAX_FLOOR_NS &&
                fabs(by_gate - by_host) < AGREEMENT * by_host &&
                fabs(by_batch - by_host) < AGREEMENT * by_host &&
                arena_buffers(&arena) == ARENA_BUFFERS;
    puts(good ? "gate: good" : "gate: NOT as it should be");
    return !good;
}
