/*
 * From a recording's call to an executable graph: the images are loaded, and the nodes are queued again on a stream that is captured.
 * (Adding kernel nodes to a graph by hand takes host functions in versions before 7, which nobody has here.)
 */
#ifndef KGRADE_HIP_REBUILD_H
#define KGRADE_HIP_REBUILD_H

#include "../../recording.h"
#include "arena.h"
#include "code_object.h"
#include "runtime.h"

struct rebuilt {
    struct rebuilt_image {
        hip_module handle;
        struct code_object *object;
    } * images; /* by image of the recording; only those that the call uses are loaded */
    size_t n_images;
    hip_graph_exec exec;
};

/* Errors: `recording_invalid`, `device_failed`.  Nothing is left behind on failure.  The recording must stay. */
int rebuild_call(struct rebuilt *ret, const struct recording *recording,
                 const struct recording_call *call, const struct arena *arena, hip_stream stream,
                 kgrade_error *err);

/* A graph that does nothing: the floor. */
int rebuild_empty(struct rebuilt *ret, kgrade_error *err);

void rebuilt_close(struct rebuilt *rebuilt);

#endif
