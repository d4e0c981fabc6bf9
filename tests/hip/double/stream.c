/*
 * Streams, events and capture.  A stream that waits for an event of a captured one is captured, too; a capture that ends
 * while work of such a stream is joined by nothing is no graph.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "double.h"

#define MAX_STREAMS 64

struct ihipEvent_t {
    uint64_t at; /* of the device's time */
    bool recorded, hung;
    struct ihipGraph *graph; /* it is of a capture: what came before it */
    struct hipGraphNode *last[DOUBLE_MAX_PREDECESSORS];
    size_t n_last;
    unsigned long long capture;
};

static struct ihipStream_t *streams[MAX_STREAMS];
static unsigned long long captures;

DOUBLE_API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
    size_t i = 0;
    (void)flags;
    while (i < MAX_STREAMS && streams[i])
        i++;
    if (i == MAX_STREAMS)
        return hipErrorOutOfMemory;
    *stream = streams[i] = calloc(1, sizeof **stream);
    return *stream ? device_state() : hipErrorOutOfMemory;
}

DOUBLE_API hipError_t hipStreamDestroy(hipStream_t stream)
{
    for (size_t i = 0; i < MAX_STREAMS; i++)
        if (streams[i] == stream)
            streams[i] = NULL;
    free(stream);
    return hipSuccess;
}

static bool any_captured(void)
{
    for (size_t i = 0; i < MAX_STREAMS; i++)
        if (streams[i] && streams[i]->graph)
            return true;
    return false;
}

/* Waiting for a device that does not answer: until the process is killed. */
static void wait_for_ever(void)
{
    for (;;)
        pause();
}

DOUBLE_API hipError_t hipStreamSynchronize(hipStream_t stream)
{
    if (stream && stream->graph)
        return hipErrorStreamCaptureUnsupported;
    if (device_hangs())
        wait_for_ever();
    return device_state();
}

DOUBLE_API hipError_t hipDeviceSynchronize(void)
{
    if (any_captured())
        return hipErrorStreamCaptureUnsupported;
    if (device_hangs())
        wait_for_ever();
    return device_state();
}

DOUBLE_API hipError_t hipStreamQuery(hipStream_t stream)
{
    if (stream && stream->graph)
        return hipErrorStreamCaptureUnsupported;
    return device_hangs() ? hipErrorNotReady : device_state();
}

static void move_launch(struct hipGraphNode *to, const struct hipGraphNode *from)
{
    to->launch = from->launch;
    to->to = from->to;
    to->from = from->from;
    to->bytes = from->bytes;
    to->value = from->value;
    to->value_bytes = from->value_bytes;
}

hipError_t stream_enqueue(hipStream_t stream, const struct hipGraphNode *node)
{
    if (!stream || !stream->graph)
        return any_captured() && !stream ? hipErrorStreamCaptureImplicit : node_run(node);
    struct hipGraphNode *added = graph_add(stream->graph, node->kind, stream->last, stream->n_last);
    move_launch(added, node);
    stream->last[0] = added;
    stream->n_last = 1;
    return hipSuccess;
}

/* --- capture --- */

DOUBLE_API hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    (void)mode;
    if (!stream || stream->graph)
        return hipErrorIllegalState;
    stream->graph = calloc(1, sizeof *stream->graph);
    stream->origin = true;
    stream->n_last = 0;
    stream->capture = ++captures;
    return stream->graph ? device_state() : hipErrorOutOfMemory;
}

/* Whether what another stream did last comes before what this one did last. */
static bool is_joined(const struct ihipStream_t *origin, const struct hipGraphNode *node)
{
    for (size_t i = 0; i < origin->graph->n; i++)
        for (size_t k = 0; k < origin->graph->nodes[i]->n_before; k++)
            if (origin->graph->nodes[i]->before[k] == node)
                return true;
    for (size_t i = 0; i < origin->n_last; i++)
        if (origin->last[i] == node)
            return true;
    return false;
}

DOUBLE_API hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *pGraph)
{
    if (!stream || !stream->graph || !stream->origin)
        return hipErrorIllegalState;
    struct ihipGraph *graph = stream->graph;
    bool joined = true;
    for (size_t i = 0; i < MAX_STREAMS; i++) {
        struct ihipStream_t *other = streams[i];
        if (!other || other == stream || other->graph != graph)
            continue;
        for (size_t k = 0; k < other->n_last; k++)
            joined = joined && is_joined(stream, other->last[k]);
        other->graph = NULL;
    }
    stream->graph = NULL;
    stream->origin = false;
    if (!joined) {
        graph_free(graph);
        return hipErrorStreamCaptureUnjoined;
    }
    /* The fault that versions before 7.14 have: a call that cannot be captured is lost, and nobody is told. */
    if (script_has("capture_loses_work") && graph->n > 0) {
        struct hipGraphNode *lost = graph->nodes[--graph->n];
        free(lost->launch.arguments);
        free(lost);
    }
    *pGraph = graph;
    return device_state();
}

DOUBLE_API hipError_t hipStreamIsCapturing(hipStream_t stream,
                                           hipStreamCaptureStatus *pCaptureStatus)
{
    *pCaptureStatus =
        stream && stream->graph ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return device_state();
}

DOUBLE_API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream,
                                                 hipStreamCaptureStatus *captureStatus_out,
                                                 unsigned long long *id_out, hipGraph_t *graph_out,
                                                 const hipGraphNode_t **dependencies_out,
                                                 size_t *numDependencies_out)
{
    (void)hipStreamIsCapturing(stream, captureStatus_out);
    if (!stream || !stream->graph)
        return device_state();
    if (id_out)
        *id_out = stream->capture;
    if (graph_out)
        *graph_out = stream->graph;
    if (dependencies_out)
        *dependencies_out = stream->last;
    if (numDependencies_out)
        *numDependencies_out = stream->n_last;
    return device_state();
}

DOUBLE_API hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream,
                                                         hipGraphNode_t *dependencies,
                                                         size_t numDependencies, unsigned int flags)
{
    if (!stream || !stream->graph)
        return hipErrorIllegalState;
    size_t kept = flags == hipStreamSetCaptureDependencies ? 0 : stream->n_last;
    if (kept + numDependencies > DOUBLE_MAX_PREDECESSORS)
        return hipErrorInvalidValue;
    if (numDependencies)
        memmove(stream->last + kept, dependencies, numDependencies * sizeof *dependencies);
    stream->n_last = kept + numDependencies;
    return device_state();
}

/* --- events --- */

DOUBLE_API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? device_state() : hipErrorOutOfMemory;
}

DOUBLE_API hipError_t hipEventDestroy(hipEvent_t event)
{
    free(event);
    return hipSuccess;
}

DOUBLE_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    event->graph = stream ? stream->graph : NULL;
    if (event->graph) {
        memcpy(event->last, stream->last, sizeof event->last);
        event->n_last = stream->n_last;
        event->capture = stream->capture;
        return device_state();
    }
    event->at = clock_device();
    event->recorded = true;
    event->hung = device_hangs();
    return device_state();
}

DOUBLE_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    (void)flags;
    if (!event->graph || !stream)
        return stream && stream->graph ? hipErrorStreamCaptureIsolation : device_state();
    if (stream->graph && stream->graph != event->graph)
        return hipErrorStreamCaptureMerge;
    if (!stream->graph) {
        stream->graph = event->graph;
        stream->capture = event->capture;
        stream->n_last = 0;
    }
    return hipStreamUpdateCaptureDependencies(stream, event->last, event->n_last,
                                              hipStreamAddCaptureDependencies);
}

DOUBLE_API hipError_t hipEventQuery(hipEvent_t event)
{
    return event->hung ? hipErrorNotReady : device_state();
}

DOUBLE_API hipError_t hipEventSynchronize(hipEvent_t event)
{
    if (event->hung)
        wait_for_ever();
    return device_state();
}

DOUBLE_API hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    if (!start->recorded || !stop->recorded)
        return hipErrorInvalidHandle;
    if (start->hung || stop->hung)
        return hipErrorNotReady;
    *ms = (float)((double)(stop->at - start->at) / 1e6);
    return device_state();
}
