/* Streams, events and waiting, for candidates. */
#define _GNU_SOURCE
#include "entry.h"

struct stream *entry_stream(hip_stream stream)
{
    if (stream == HIP_STREAM_LEGACY && capture.writing) {
        capture_refuse("legacy_stream",
                       "Pass the task's stream to every launch and copy (hipStreamPerThread where "
                       "the task has none).",
                       "Work was put on the legacy default stream.");
        return NULL;
    }
    return stream_find(stream);
}

enum entry_wait entry_wait(const char *name)
{
    if (!capture.writing)
        return ENTRY_WAIT_REAL;
    if (!capture.has_stream)
        return ENTRY_WAIT_ABSORBED;
    capture_refuse("sync_in_call", "Only queue work on the stream; the caller waits for it.",
                   "The call waits for the device (%s).", name);
    return ENTRY_WAIT_REFUSED;
}

static hip_error create_stream(hip_stream *ret)
{
    hip_stream handle = NULL;
    if (!ret)
        return HIP_ERROR_INVALID_VALUE;
    /* None waits for the legacy stream, where nothing of the candidate's is. */
    hip_error result = hip.hipStreamCreateWithFlags(&handle, HIP_STREAM_NON_BLOCKING);
    if (result != HIP_SUCCESS)
        return result;
    ENTRY_LOCK();
    struct stream *s = stream_add(handle);
    if (!s) {
        hip.hipStreamDestroy(handle);
        return HIP_ERROR_OUT_OF_MEMORY;
    }
    *ret = s;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipStreamCreate, (hip_stream * ret))
{
    return entry_done(create_stream(ret));
}

ENTRY(hip_error, hipStreamCreateWithFlags, (hip_stream * ret, unsigned flags))
{
    (void)flags;
    return entry_done(create_stream(ret));
}

ENTRY(hip_error, hipStreamCreateWithPriority, (hip_stream * ret, unsigned flags, int priority))
{
    (void)flags, (void)priority;
    return entry_done(create_stream(ret));
}

ENTRY(hip_error, hipStreamDestroy, (hip_stream stream))
{
    ENTRY_LOCK();
    struct stream *s = stream_find(stream);
    if (!s || s == capture.main)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    hip_error result = hip.hipStreamDestroy(s->handle);
    stream_remove(s);
    return entry_done(result);
}

/* What is waited for is found under the lock; waiting is done without it. */
static hip_error wait_for_stream(const char *name, hip_stream stream, hip_error (*wait)(hip_stream))
{
    hip_stream handle;
    {
        ENTRY_LOCK();
        struct stream *s = stream_find(stream);
        enum entry_wait how = entry_wait(name);
        if (!s || how == ENTRY_WAIT_REFUSED)
            return s ? HIP_ERROR_CAPTURE_UNSUPPORTED : HIP_ERROR_INVALID_HANDLE;
        if (how == ENTRY_WAIT_ABSORBED)
            return HIP_SUCCESS;
        handle = s->handle;
    }
    return wait(handle);
}

ENTRY(hip_error, hipStreamSynchronize, (hip_stream stream))
{
    return entry_done(wait_for_stream("hipStreamSynchronize", stream, hip.hipStreamSynchronize));
}

/* That something is not ready is no failure for hipGetLastError to tell. */
ENTRY(hip_error, hipStreamQuery, (hip_stream stream))
{
    return wait_for_stream("hipStreamQuery", stream, hip.hipStreamQuery);
}

ENTRY(hip_error, hipDeviceSynchronize, (void))
{
    enum entry_wait how;
    {
        ENTRY_LOCK();
        how = entry_wait("hipDeviceSynchronize");
    }
    if (how == ENTRY_WAIT_REAL)
        return entry_done(hip.hipDeviceSynchronize());
    return entry_done(how == ENTRY_WAIT_ABSORBED ? HIP_SUCCESS : HIP_ERROR_CAPTURE_UNSUPPORTED);
}

ENTRY(hip_error, hipStreamWaitEvent, (hip_stream stream, hip_event event, unsigned flags))
{
    ENTRY_LOCK();
    struct stream *s = entry_stream(stream);
    struct event *e = event_find(event);
    if (!s || !e)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    if (!capture.writing)
        return entry_done(hip.hipStreamWaitEvent(s->handle, e->handle, flags));
    stream_note_wait(s, e);
    return HIP_SUCCESS;
}

static hip_error create_event(hip_event *ret, unsigned flags)
{
    hip_event handle = NULL;
    if (!ret)
        return HIP_ERROR_INVALID_VALUE;
    hip_error result = hip.hipEventCreateWithFlags(&handle, flags);
    if (result != HIP_SUCCESS)
        return result;
    ENTRY_LOCK();
    struct event *e = event_add(handle);
    if (!e) {
        hip.hipEventDestroy(handle);
        return HIP_ERROR_OUT_OF_MEMORY;
    }
    *ret = e;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipEventCreate, (hip_event * ret))
{
    return entry_done(create_event(ret, 0));
}

ENTRY(hip_error, hipEventCreateWithFlags, (hip_event * ret, unsigned flags))
{
    return entry_done(create_event(ret, flags));
}

ENTRY(hip_error, hipEventDestroy, (hip_event event))
{
    ENTRY_LOCK();
    struct event *e = event_find(event);
    if (!e)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    hip_error result = hip.hipEventDestroy(e->handle);
    event_remove(e);
    return entry_done(result);
}

ENTRY(hip_error, hipEventRecord, (hip_event event, hip_stream stream))
{
    ENTRY_LOCK();
    struct stream *s = entry_stream(stream);
    struct event *e = event_find(event);
    if (!s || !e)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    if (!capture.writing) {
        e->call = 0;
        return entry_done(hip.hipEventRecord(e->handle, s->handle));
    }
    event_note(e, s);
    return HIP_SUCCESS;
}

static hip_error wait_for_event(const char *name, hip_event event, hip_error (*wait)(hip_event))
{
    hip_event handle;
    {
        ENTRY_LOCK();
        struct event *e = event_find(event);
        enum entry_wait how = entry_wait(name);
        if (!e || how == ENTRY_WAIT_REFUSED)
            return e ? HIP_ERROR_CAPTURE_UNSUPPORTED : HIP_ERROR_INVALID_HANDLE;
        if (how == ENTRY_WAIT_ABSORBED)
            return HIP_SUCCESS;
        handle = e->handle;
    }
    return wait(handle);
}

ENTRY(hip_error, hipEventSynchronize, (hip_event event))
{
    return entry_done(wait_for_event("hipEventSynchronize", event, hip.hipEventSynchronize));
}

ENTRY(hip_error, hipEventQuery, (hip_event event))
{
    return wait_for_event("hipEventQuery", event, hip.hipEventQuery);
}

ENTRY(hip_error, hipEventElapsedTime, (float *ret, hip_event from, hip_event to))
{
    ENTRY_LOCK();
    struct event *first = event_find(from), *last = event_find(to);
    if (!first || !last)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    return capture.writing ? HIP_ERROR_NOT_READY
                           : entry_done(hip.hipEventElapsedTime(ret, first->handle, last->handle));
}
