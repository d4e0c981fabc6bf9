/*
 * Device code that knows where the mailbox is, which no candidate does, and writes to it for as long as it runs: what the
 * gate measures stays what it is, or the sample is void.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "grader/devices/cuda/arena.h"
#include "grader/devices/cuda/gate.h"
#include "grader/devices/cuda/rebuild.h"

#define SAMPLES 100
#define WORK_NS 100000u /* of each replay */
#define AGREEMENT 0.02

/* Waits `ns` on the device's global timer and writes `value` to a word of the mailbox again and again meanwhile. */
static const char program[] = ".version 8.0\n"
                              ".target sm_80\n"
                              ".address_size 64\n"
                              ".visible .entry forge(.param .u64 word, .param .u64 value,\n"
                              "                      .param .u64 ns)\n"
                              "{\n"
                              "    .reg .u64 %r<6>;\n"
                              "    .reg .pred %p;\n"
                              "    ld.param.u64 %r0, [word];\n"
                              "    ld.param.u64 %r1, [value];\n"
                              "    ld.param.u64 %r2, [ns];\n"
                              "    mov.u64 %r3, %globaltimer;\n"
                              "    add.u64 %r3, %r3, %r2;\n"
                              "again:\n"
                              "    st.volatile.global.u64 [%r0], %r1;\n"
                              "    membar.sys;\n"
                              "    mov.u64 %r4, %globaltimer;\n"
                              "    setp.lt.u64 %p, %r4, %r3;\n"
                              "    @%p bra again;\n"
                              "    ret;\n"
                              "}\n";

static const struct forgery {
    const char *name;
    enum kernels_word word;
    uint64_t value;
    bool voids; /* every sample is to be void */
} forgeries[] = {
    {"nothing", WORD_PATIENCE, 0, false}, /* not read any more by then */
    {"the command", WORD_COMMAND, COMMAND_PASS, false},
    {"the arrival", WORD_ARRIVED, 0, false},
    {"an earlier promise", WORD_PROMISE, 1, false},
    {"a later promise", WORD_PROMISE, ~0ull, false},
    {"a stop of nothing", WORD_STOP, 0, false},
    {"an early stop", WORD_STOP, 1, false},
    {"a late stop", WORD_STOP, ~0ull, false},
    {"a promise not kept", WORD_LATE, 1, true},
};

static void die(const kgrade_error *err, const char *what)
{
    printf("%s: %s: %s\n", what, err->code, err->message);
    exit(1);
}

/* [gate] -> forge -> [stop]. */
static CUgraphExec forging_graph(const struct rebuild_place *place, CUfunction forge,
                                 const struct forgery *f)
{
    CUgraph graph;
    CUgraphExec exec;
    kgrade_error err = {.code = ""};
    CUdeviceptr mail = place->gate->mail_device, word = mail + f->word * sizeof(uint64_t);
    uint64_t value = f->value, ns = WORK_NS;
    void *post[] = {&mail}, *arguments[] = {&word, &value, &ns};
    CUgraphNode middle;
    if (cuGraphCreate(&graph, 0))
        exit(1);
    struct launch_target target = {.graph = graph};
    if (kernels_launch(place->kernels, KERNEL_GATE, 1, 1, &target, post, &err))
        die(&err, "the gate");
    const CUDA_KERNEL_NODE_PARAMS params = {.func = forge,
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 1,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = arguments};
    if (cuGraphAddKernelNode(&middle, graph, &target.last, 1, &params))
        exit(1);
    target.last = middle;
    if (kernels_launch(place->kernels, KERNEL_STOP, 1, 1, &target, post, &err))
        die(&err, "the stop");
    if (cuGraphInstantiate(&exec, graph, 0))
        exit(1);
    return exec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of those that are not void, NAN for none. */
static double sample(struct gate *gate, CUgraphExec exec, CUstream stream, int *ret_voids)
{
    double times[SAMPLES];
    size_t n = 0;
    kgrade_error err;
    *ret_voids = 0;
    for (int i = 0; i < SAMPLES; i++) {
        struct replay_sample s;
        if (gate_sample(gate, exec, stream, &s, &err))
            die(&err, "sampling");
        if (s.is_void)
            ++*ret_voids;
        else
            times[n++] = (double)s.ns;
    }
    qsort(times, n, sizeof *times, compare);
    return n ? times[n / 2] : NAN;
}

int main(void)
{
    struct driver_context context;
    struct kernels kernels;
    struct gate gate;
    struct arena arena;
    CUstream stream;
    CUmodule module;
    CUfunction forge;
    kgrade_error err = {.code = ""};
    if (!have_card())
        return SKIPPED;
    if (driver_open(&context, CU_CTX_SCHED_SPIN, &err) || kernels_open(&kernels, &context, &err) ||
        gate_open(&gate, &err) || arena_create(&arena, &context, 0, 2ull << 20, &err))
        die(&err, "opening");
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuModuleLoadData(&module, program) ||
        cuModuleGetFunction(&forge, module, "forge"))
        return 1;
    const struct rebuild_place place = {&context, &arena, &kernels, &gate};
    bool good = true;
    double honest = 0;
    printf("a kernel of %u ns that forges:\n", WORK_NS);
    for (size_t i = 0; i < sizeof forgeries / sizeof forgeries[0]; i++) {
        const struct forgery *f = &forgeries[i];
        CUgraphExec exec = forging_graph(&place, forge, f);
        int voids;
        if (gate_pass(&gate, exec, stream, &err))
            die(&err, f->name);
        double ns = sample(&gate, exec, stream, &voids);
        honest = i ? honest : ns;
        bool as_it_must = f->voids ? voids == SAMPLES
                                   : voids == SAMPLES || fabs(ns - honest) <= AGREEMENT * honest;
        printf("  %-22s median %8.0f ns, %3d of %d void  %s\n", f->name, ns, voids, SAMPLES,
               as_it_must ? "" : "NOT as it must be");
        good = good && as_it_must;
    }
    good = good && honest >= WORK_NS;
    puts(good ? "forgery: good" : "forgery: NOT as it should be");
    return !good;
}
