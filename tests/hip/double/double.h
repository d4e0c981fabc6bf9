/*
 * A test double of libamdhip64: the functions that kgrade's HIP device uses, without a device.  Memory is the process's
 * own, streams do their work at once, and a kernel is a C function that is known by the name of the real one; but modules
 * are real code objects, made by the real compiler.  What it says of times is made up: see clock.c.
 *
 * The prototypes and structures are those of AMD's header, so that what passes here fits the real library.
 */
#ifndef KGRADE_TESTS_HIP_DOUBLE_H
#define KGRADE_TESTS_HIP_DOUBLE_H

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grader/devices/hip/code_object.h"
#include "script.h"

#define DOUBLE_API __attribute__((visibility("default")))
#define DOUBLE_NAME "kgrade's test double, not a card"
#define DOUBLE_TARGET "gfx90a:sramecc+:xnack-"
#define DOUBLE_PROCESSORS 8
#define DOUBLE_MAX_PREDECESSORS 64

/* --- clock.c --- */
/* Begins and ends a piece of work that is to take so many ns. */
uint64_t clock_begin(void);
void clock_end(uint64_t begun, uint64_t ns);
/* Spends so many ns, which the device's time will not have, nor anything else of the work that is under way beyond what it is to take: as if
 * device code had written over the stamps. */
void clock_forge(uint64_t ns);
/* The device's time: that of all work until here, ns. */
uint64_t clock_device(void);

/* --- memory.c --- */
/* Whether device code may touch all of it. */
bool memory_is_device(const void *at, size_t bytes);

/* --- module.c and kernels.c --- */
struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
    const struct code_object_kernel *kernel;
    struct ihipModuleSymbol_t *next;
};

struct launch {
    struct ihipModuleSymbol_t *function;
    dim3 grid, block;
    uint32_t shared_bytes;
    uint8_t *arguments; /* packed; owned */
};

/* Copies the arguments. */
hipError_t launch_make(hipFunction_t function, dim3 grid, dim3 block, uint32_t shared_bytes,
                       void **parameters, void **extra, struct launch *ret);
/* Does it now, and takes its time. */
hipError_t launch_run(const struct launch *launch);
/* By its kernel's name; what a kernel finds wrong with its pointers is hipErrorIllegalAddress. */
hipError_t kernel_run(const struct launch *launch);
/* How long a launch takes on the device that there is not, ns. */
uint64_t kernel_ns(const struct launch *launch);

/* --- graph.c --- */
enum node_kind { NODE_LAUNCH, NODE_COPY, NODE_FILL, NODE_EMPTY };

struct hipGraphNode {
    enum node_kind kind;
    struct launch launch;
    void **parameters; /* for hipGraphKernelNodeGetParams; they point into launch.arguments */
    void *to;
    const void *from;
    size_t bytes; /* of a copy; elements of a fill */
    uint32_t value, value_bytes;
    struct hipGraphNode *before[DOUBLE_MAX_PREDECESSORS];
    size_t n_before;
    bool done; /* in the launch that is under way */
};

struct ihipGraph {
    struct hipGraphNode **nodes;
    size_t n;
};

struct hipGraphNode *graph_add(struct ihipGraph *graph, enum node_kind kind,
                               struct hipGraphNode *const *before, size_t n_before);
void graph_free(struct ihipGraph *graph);
/* What a node or the same outside a graph does. */
hipError_t node_run(const struct hipGraphNode *node);

/* --- stream.c --- */
struct ihipStream_t {
    struct ihipGraph *graph; /* that it is captured into; NULL: it is not */
    bool origin;             /* where the capture began */
    struct hipGraphNode *last[DOUBLE_MAX_PREDECESSORS];
    size_t n_last;
    unsigned long long capture;
};

/* Adds the node to the graph that the stream is captured into, or does its work at once. */
hipError_t stream_enqueue(hipStream_t stream, const struct hipGraphNode *node);

/* --- device.c --- */
/* What every call answers from now on, as after a fault on a device. */
void device_break(hipError_t error);
hipError_t device_state(void);
/* Work that never ends is under way. */
void device_hang(void);
bool device_hangs(void);

#endif
