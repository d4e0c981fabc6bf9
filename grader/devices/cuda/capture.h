/* From a captured graph to a recording's call. */
#ifndef KGRADE_CUDA_CAPTURE_H
#define KGRADE_CUDA_CAPTURE_H

#include "../../recording.h"
#include "../shared/workspace.h"
#include "arena.h"

struct capture_place {
    const struct driver_context *context;
    const struct arena *arena;
    struct workspace *workspace;
    const struct task *task;
};

/* What a captured graph holds at its top level, to compare with what was seen being launched. */
struct capture_counts {
    unsigned int kernels, graphs;
};
int capture_count(CUgraph graph, struct capture_counts *ret, kgrade_error *err);

/*
 * Writes nodes, edges, images, the candidate's memory and the modules' variables into the recording's last call.
 * -1 with the reason why the graph cannot be recorded: `host_node`, `host_copy`, `conditional_node`, `allocation_node`,
 * `external_semaphore`, `event_node`, `memory_operation_node`, `unsupported_node`, `unsupported_copy`,
 * `pointer_outside_arena`, `host_pointer`, `device_heap`, `device_launch`, `device_updatable_node`, `ambiguous_kernel`,
 * `unknown_kernel`, `too_many_nodes`, `workspace_too_large`; or `device_failed`.
 */
int capture_write(CUgraph graph, const struct capture_place *place, struct recording *recording,
                  kgrade_error *err);

#endif
