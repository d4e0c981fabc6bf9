/*
 * Two replayers beside each other, as candidate and baseline are: two processes that share an arena and nothing else.  The
 * candidate's kernels write over all of the arena, and to where the other's mailbox is, which no candidate knows: what the other
 * measures, and what comes out, stays what it is.  At last its kernel faults, which is its own affair.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "card.h"
#include "grader/devices/cuda/arena.h"
#include "grader/devices/cuda/gate.h"
#include "grader/devices/cuda/rebuild.h"
#include "grader/wire.h"
#include "sandbox/base/cleanup.h"

#define HALF_BYTES                                                                                 \
    (32ull << 20) /* the baseline copies the first half of its buffers to the second */
#define SAMPLES 100
#define AGREEMENT 0.05
#define WAIT_NS (60 * IO_NS_PER_S)

/* Writes a value to `n` words from an address on. */
static const char program[] = ".version 8.0\n"
                              ".target sm_80\n"
                              ".address_size 64\n"
                              ".visible .entry forge(.param .u64 to, .param .u64 value,\n"
                              "                      .param .u64 n)\n"
                              "{\n"
                              "    .reg .u64 %r<5>;\n"
                              "    .reg .pred %p;\n"
                              "    ld.param.u64 %r0, [to];\n"
                              "    ld.param.u64 %r1, [value];\n"
                              "    ld.param.u64 %r2, [n];\n"
                              "again:\n"
                              "    st.volatile.global.u64 [%r0], %r1;\n"
                              "    add.u64 %r0, %r0, 8;\n"
                              "    sub.u64 %r2, %r2, 1;\n"
                              "    setp.ne.u64 %p, %r2, 0;\n"
                              "    @%p bra again;\n"
                              "    membar.sys;\n"
                              "    ret;\n"
                              "}\n";

struct process {
    int socket;
    struct driver_context context;
    struct kernels kernels;
    struct gate gate;
    struct arena arena;
    CUstream stream;
};

static void must(bool good, const kgrade_error *err, const char *what)
{
    if (good)
        return;
    printf("%s: %s %s\n", what, err ? err->code : "", err ? err->message : "");
    exit(1);
}

static void receive(const struct process *p, struct wire_message *ret)
{
    kgrade_error err = {.code = ""};
    must(wire_receive(p->socket, ret, io_now() + WAIT_NS, &err) == 0, &err, "receiving");
}

static void send_words(const struct process *p, json_t *json, int fd)
{
    kgrade_error err = {.code = ""};
    must(wire_send(p->socket, json, NULL, 0, fd, io_now() + WAIT_NS, &err) == 0, &err, "sending");
}

static void open_process(struct process *p, int socket, int arena_fd)
{
    kgrade_error err = {.code = ""};
    p->socket = socket;
    must(driver_open(&p->context, CU_CTX_SCHED_SPIN, &err) == 0 &&
             kernels_open(&p->kernels, &p->context, &err) == 0 && gate_open(&p->gate, &err) == 0 &&
             (arena_fd < 0
                  ? arena_create(&p->arena, &p->context, 2ull << 20, 2 * HALF_BYTES, &err)
                  : arena_import(&p->arena, &p->context, arena_fd, ARENA_READ_WRITE, &err)) == 0,
         &err, "opening");
    must(cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, NULL, "a stream");
}

/* --- the baseline --- */

static CUgraphExec copy_graph(struct process *p)
{
    CUgraph graph;
    CUgraphExec exec;
    kgrade_error err = {.code = ""};
    uint64_t n = HALF_BYTES / 16;
    CUdeviceptr from = arena_buffers(&p->arena), to = from + HALF_BYTES, mail = p->gate.mail_device;
    void *copy[] = {&from, &to, &n}, *post[] = {&mail};
    must(cuGraphCreate(&graph, 0) == CUDA_SUCCESS, NULL, "a graph");
    struct launch_target target = {.graph = graph};
    must(kernels_launch(&p->kernels, KERNEL_GATE, 1, 1, &target, post, &err) == 0 &&
             kernels_launch(&p->kernels, KERNEL_COPY, kernels_blocks(&p->kernels, n),
                            KERNELS_THREADS, &target, copy, &err) == 0 &&
             kernels_launch(&p->kernels, KERNEL_STOP, 1, 1, &target, post, &err) == 0,
         &err, "building a graph");
    must(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS, NULL, "a graph that can be launched");
    return exec;
}

static bool is_right(const struct process *p, uint32_t input)
{
    uint32_t *copy = malloc(HALF_BYTES);
    must(copy &&
             cuMemcpyDtoH(copy, arena_buffers(&p->arena) + HALF_BYTES, HALF_BYTES) == CUDA_SUCCESS,
         NULL, "reading the output");
    bool right = true;
    for (size_t i = 0; i < HALF_BYTES / sizeof *copy; i++)
        right = right && copy[i] == input;
    free(copy);
    return right;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* New inputs before every sample, and an output of no use, as in a grade. */
static json_t *sample(struct process *p, CUgraphExec exec)
{
    static uint32_t input;
    double times[SAMPLES];
    kgrade_error err = {.code = ""};
    for (size_t n = 0, tries = 0; n < SAMPLES; tries++) {
        struct replay_sample s;
        must(tries < 10 * SAMPLES, NULL, "too many samples are void");
        must(cuMemsetD32Async(arena_buffers(&p->arena), ++input, HALF_BYTES / 4, p->stream) ==
                     CUDA_SUCCESS &&
                 cuMemsetD32Async(arena_buffers(&p->arena) + HALF_BYTES, ~input, HALF_BYTES / 4,
                                  p->stream) == CUDA_SUCCESS,
             NULL, "inputs");
        must(gate_sample(&p->gate, exec, p->stream, &s, &err) == 0, &err, "a sample");
        if (!s.is_void)
            times[n++] = (double)s.ns;
    }
    qsort(times, SAMPLES, sizeof *times, compare);
    return json_pack("{s:f, s:b}", "ns", times[SAMPLES / 2], "right", is_right(p, input));
}

static int baseline(int socket)
{
    struct process p = {.socket = socket};
    struct wire_message first = {.fd = -1};
    receive(&p, &first);
    open_process(&p, socket, first.fd);
    wire_message_free(&first);
    CUgraphExec exec = copy_graph(&p);
    kgrade_error err = {.code = ""};
    must(gate_pass(&p.gate, exec, p.stream, &err) == 0, &err, "the copy");
    send_words(&p, json_pack("{s:I}", "mail", (json_int_t)p.gate.mail_device), -1);
    for (;;) {
        cleanup_message struct wire_message asked = {.fd = -1};
        receive(&p, &asked);
        if (json_is_true(json_object_get(asked.json, "end")))
            return 0;
        send_words(&p, sample(&p, exec), -1);
    }
}

/* --- the candidate --- */

static double ask(const struct process *p, bool *ret_right)
{
    cleanup_message struct wire_message told = {.fd = -1};
    send_words(p, json_object(), -1);
    receive(p, &told);
    *ret_right = json_is_true(json_object_get(told.json, "right"));
    return json_number_value(json_object_get(told.json, "ns"));
}

static CUresult forge(const struct process *p, CUfunction function, CUdeviceptr to, uint64_t value,
                      uint64_t n)
{
    void *arguments[] = {&to, &value, &n};
    CUresult result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, p->stream, arguments, NULL);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(p->stream) : result;
}

static bool check(const struct process *p, const char *after, double honest)
{
    bool right;
    double ns = ask(p, &right);
    bool good = right && fabs(ns - honest) <= AGREEMENT * honest;
    printf("  %-36s the baseline takes %8.0f ns and is %s  %s\n", after, ns,
           right ? "right" : "WRONG", good ? "" : "NOT as it must be");
    return good;
}

static int candidate(int socket)
{
    struct process p = {.socket = socket};
    CUmodule module;
    CUfunction function;
    kgrade_error err = {.code = ""};
    int fd = -1;
    open_process(&p, socket, -1);
    must(arena_export(&p.arena, &fd, &err) == 0, &err, "the arena");
    must(cuModuleLoadData(&module, program) == CUDA_SUCCESS &&
             cuModuleGetFunction(&function, module, "forge") == CUDA_SUCCESS,
         NULL, "the kernel");
    send_words(&p, json_object(), fd);
    cleanup_message struct wire_message told = {.fd = -1};
    receive(&p, &told);
    CUdeviceptr mail = (CUdeviceptr)json_integer_value(json_object_get(told.json, "mail"));
    bool right, good = true;
    double honest = ask(&p, &right);
    printf("  %-36s the baseline takes %8.0f ns\n", "alone:", honest);
    must(right && honest > 0, NULL, "the baseline by itself");
    must(forge(&p, function, arena_buffers(&p.arena), 0x0123456789abcdefull,
               arena_case_bytes(&p.arena) / 64) == CUDA_SUCCESS,
         NULL, "writing to the arena");
    must(cuMemsetD8(arena_buffers(&p.arena), 0xa5, arena_case_bytes(&p.arena)) == CUDA_SUCCESS,
         NULL, "all of it");
    good = check(&p, "all of the arena was written to:", honest) && good;
    unsigned int type;
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mail) == CUDA_SUCCESS) {
        /* The address means something here, too: this process's own mailbox, most likely. */
        must(forge(&p, function, mail, 1, WORD_COUNT) == CUDA_SUCCESS, NULL, "the mailbox");
        good = check(&p, "its mailbox was written to:", honest) && good;
    }
    CUresult fault = forge(&p, function, 0x500000000000ull, 1, WORD_COUNT);
    must(driver_kernel_fault(fault) != NULL, NULL, "a fault that was expected did not happen");
    good = check(&p, "after a fault in the candidate:", honest) && good;
    send_words(&p, json_pack("{s:b}", "end", 1), -1);
    puts(good ? "beside: good" : "beside: NOT as it should be");
    return !good;
}

int main(void)
{
    int pair[2], status;
    if (!have_card())
        return SKIPPED;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, NULL, "a socket pair");
    pid_t child = fork(); /* before either has a context */
    must(child >= 0, NULL, "fork");
    close(pair[child != 0]);
    if (child == 0)
        _exit(baseline(pair[1]));
    int result = candidate(pair[0]);
    waitpid(child, &status, 0);
    return result || status;
}
