/*
 * The promise gate: timing one launch of a graph with stamps that the candidate cannot touch.
 *
 *   graph:  [gate] -> the candidate's nodes -> [stop]
 *
 *   gate kernel (one thread)                        host (gate_sample)
 *     arrived = 1                             --->  waits for it: what was queued before takes its time
 *                                             <---  command = PROMISE
 *     promise = now + ahead                   --->  takes the promise into its own memory
 *                                             <---  command = TAKEN
 *     leaves exactly at the promised time,
 *     or sets late: the sample is void
 *   the candidate's nodes run
 *   stop kernel: stop = now                   --->  read after everything has ended
 *
 *   sample = stop - promise, in 64-bit integers of the device's global timer (ns)
 *
 * The mailbox is mapped host memory, which device code could write to.  When the candidate's code starts, the promise
 * is no longer read from there, and the stop stamp is written after all of that code has ended.
 */
#ifndef KGRADE_CUDA_GATE_H
#define KGRADE_CUDA_GATE_H

#include "../../replay/worker.h"
#include "launch.h"

#define GATE_TIMEOUT_NS                                                                            \
    (10 * IO_NS_PER_S) /* for everything that is queued before and in a launch */
#define GATE_PATIENCE_NS (2 * IO_NS_PER_S) /* how long the gate waits for the host */
#define GATE_AHEAD_NS 6000u                /* first notice; grows when promises come too late */
#define GATE_MAX_AHEAD_NS 1000000u

struct gate {
    volatile uint64_t *mail; /* enum kernels_word */
    CUdeviceptr mail_device;
    uint64_t ahead_ns;
};

int gate_open(struct gate *ret, kgrade_error *err);
void gate_close(struct gate *gate);

/* Takes one sample.  -1 with `replay_timeout`, `replay_illegal_access`, `kernel_failed` or `device_failed`. */
int gate_sample(struct gate *gate, CUgraphExec exec, CUstream stream, struct replay_sample *ret,
                kgrade_error *err);

/* Launches with the gate open, without measuring, and waits.  The same errors. */
int gate_pass(struct gate *gate, CUgraphExec exec, CUstream stream, kgrade_error *err);

/* The gate stays open, in whatever is launched next without gate_sample. */
void gate_hold_open(struct gate *gate);

/* Waits for a stream.  deadline: CLOCK_MONOTONIC ns.  The same errors. */
int gate_wait(CUstream stream, uint64_t deadline, kgrade_error *err);

/* An error from a driver call on the replay path, named for what it is. */
int gate_fail(kgrade_error *err, CUresult result, const char *what);

#endif
