/* Streams and events as a captured call sees them: which node waits for which. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "capture.h"

struct stream *stream_add(hip_stream handle)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s || capture.n_streams == CAPTURE_MAX_OBJECTS) {
        free(s);
        return NULL;
    }
    s->handle = handle;
    capture.streams[capture.n_streams++] = s;
    return s;
}

struct stream *stream_find(hip_stream stream)
{
    if (!stream || stream == HIP_STREAM_PER_THREAD || stream == HIP_STREAM_LEGACY)
        return capture.main;
    for (size_t i = 0; i < capture.n_streams; i++)
        if (capture.streams[i] == stream)
            return capture.streams[i];
    return NULL;
}

void stream_remove(struct stream *s)
{
    for (size_t i = 0; i < capture.n_streams; i++)
        if (capture.streams[i] == s)
            capture.streams[i] = capture.streams[--capture.n_streams];
    free(s);
}

struct event *event_add(hip_event handle)
{
    struct event *e = calloc(1, sizeof *e);
    if (!e || capture.n_events == CAPTURE_MAX_OBJECTS) {
        free(e);
        return NULL;
    }
    e->handle = handle;
    capture.events[capture.n_events++] = e;
    return e;
}

struct event *event_find(hip_event event)
{
    for (size_t i = 0; i < capture.n_events; i++)
        if (capture.events[i] == event)
            return capture.events[i];
    return NULL;
}

void event_remove(struct event *e)
{
    for (size_t i = 0; i < capture.n_events; i++)
        if (capture.events[i] == e)
            capture.events[i] = capture.events[--capture.n_events];
    free(e);
}

static void add_wait(struct waits *to, uint32_t node)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->nodes[i] == node)
            return;
    if (to->n == CAPTURE_MAX_WAITS) {
        capture_refuse("too_many_nodes", "Do the work in fewer, larger kernels.",
                       "A stream waits for more than %d nodes at once.", CAPTURE_MAX_WAITS);
        return;
    }
    to->nodes[to->n++] = node;
}

void event_note(struct event *e, const struct stream *stream)
{
    e->call = stream->joined ? capture.n_calls : 0;
    if (stream->joined)
        e->waits = stream->waits;
}

void stream_note_wait(struct stream *stream, const struct event *e)
{
    if (e->call != capture.n_calls || e->call == 0)
        return; /* of an earlier call, which is over */
    if (!stream->joined)
        stream->waits.n = 0;
    stream->joined = true;
    for (size_t i = 0; i < e->waits.n; i++)
        add_wait(&stream->waits, e->waits.nodes[i]);
}

void streams_begin(void)
{
    for (size_t i = 0; i < capture.n_streams; i++) {
        capture.streams[i]->joined = capture.streams[i] == capture.main;
        capture.streams[i]->waits.n = 0;
    }
}

int stream_add_edges(struct stream *stream)
{
    uint32_t node = (uint32_t)capture.call->n_nodes - 1;
    for (size_t i = 0; i < stream->waits.n; i++)
        if (recording_add_edge(capture.call, stream->waits.nodes[i], node)) {
            capture_refuse("too_many_nodes", "Do the work in fewer, larger kernels.",
                           "The call's operations depend on each other in more than %d places.",
                           RECORDING_MAX_EDGES);
            return -1;
        }
    stream->waits = (struct waits){{node}, 1};
    return 0;
}

/* Every node that no other waits for must be one that the task's stream waits for. */
int streams_check_joined(kgrade_error *err)
{
    const struct recording_call *call = capture.call;
    cleanup_free bool *waited = calloc(call->n_nodes + 1, sizeof *waited);
    if (!waited)
        return fail(err, "out_of_memory", NULL, "No memory for a captured call.");
    for (size_t i = 0; i < call->n_edges; i++)
        waited[call->edges[i].from] = true;
    for (size_t i = 0; i < capture.main->waits.n; i++)
        waited[capture.main->waits.nodes[i]] = true;
    for (size_t i = 0; i < call->n_nodes; i++)
        if (!waited[i])
            return fail(err, "unjoined_stream",
                        "Record an event at the end of each other stream, and let the task's "
                        "stream wait for it.",
                        "Work on another stream is not waited for by the task's stream.");
    return 0;
}
