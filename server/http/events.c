#define _GNU_SOURCE
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../value.h"
#include "answer.h"
#include "grade_get.h"
#include "view.h"

#define MAX_EVENT 1024

struct stream {
    unsigned next;       /* number of the next event */
    bool ended;          /* the last event has been put */
    uint64_t keep_alive; /* when the next comment is due */
    size_t size, sent;
    char text[MAX_EVENT]; /* what is to be sent */
};

/* The number behind the last event that the client has seen; 0 when it does not say. */
static unsigned resume_at(const struct request *r)
{
    const char *last = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Last-Event-ID");
    size_t size = last ? strlen(last) : 0;
    if (!size || size > 9 || strspn(last, "0123456789") != size)
        return 0;
    return (unsigned)strtoul(last, NULL, 10) + 1;
}

static void add_queued(json_t *data, const struct job_event *e, const struct job_view *v)
{
    json_object_set_new(data, "ahead", json_integer(e->done));
    json_object_set_new(data, "estimate_s",
                        v->estimate_s > 0 ? value_number(v->estimate_s) : json_null());
}

static void add_done(json_t *data, const struct job_view *v)
{
    json_object_set_new(data, "verdict", json_string(kgrade_verdict_name(v->verdict)));
    json_object_set_new(data, "score", value_number(v->score));
}

static void put_event(struct stream *s, const struct job_event *e, const struct job_view *v)
{
    json_auto_t *data = json_object();
    json_object_set_new(data, "at", value_time(e->at_ms));
    if (!strcmp(e->name, "queued")) {
        add_queued(data, e, v);
    } else if (!strcmp(e->name, "done")) {
        add_done(data, v);
    } else if (!strcmp(e->name, "cancelled")) {
        json_object_set_new(data, "code", json_string(v->error.code));
    } else {
        json_object_set_new(data, "done", json_integer(e->done));
        json_object_set_new(data, "total", json_integer(e->total));
    }
    cleanup_free char *text = json_dumps(data, JSON_COMPACT);
    int n = snprintf(s->text + s->size, sizeof s->text - s->size, "id: %u\nevent: %s\ndata: %s\n\n",
                     s->next, e->name, text ? text : "{}");
    s->size += (size_t)n;
    s->next++;
}

/* Puts what there is to say.  Returns whether it did. */
static bool put_next(const struct request *r, struct stream *s, const struct job_view *v)
{
    struct job_event e;
    bool final = view_is_final(v->state);
    /* Numbers begin anew when a grade does.  Who comes back with one of an earlier attempt gets the
     * end again rather than nothing. */
    if (s->next >= v->events && final && !s->ended)
        s->next = v->events ? v->events - 1 : 0;
    if (job_event(r->job, s->next, &e)) {
        put_event(s, &e, v);
        s->ended = !strcmp(e.name, "done") || !strcmp(e.name, "cancelled");
        return true;
    }
    if (final && !s->ended) {
        e = (struct job_event){.name = v->state == JOB_DONE ? "done" : "cancelled",
                               .at_ms = v->ended_ms};
        put_event(s, &e, v);
        s->ended = true;
        return true;
    }
    return false;
}

static ssize_t send_text(const struct request *r, struct stream *s, char *buffer, size_t room)
{
    size_t n = s->size - s->sent < room ? s->size - s->sent : room;
    memcpy(buffer, s->text + s->sent, n);
    s->sent += n;
    if (s->sent == s->size)
        s->sent = s->size = 0;
    s->keep_alive = io_now() + EVENTS_KEEP_ALIVE_S * IO_NS_PER_S;
    return connection_answer(r->connection) ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_stream(void *cls, uint64_t position, char *buffer, size_t room)
{
    (void)position;
    struct request *r = cls;
    struct stream *s = r->state;
    if (s->size)
        return send_text(r, s, buffer, room);
    if (s->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;

    unsigned sight = connection_look(r->connection);
    job_look(r->job, &r->view);
    if (sight & CONNECTION_GONE)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (put_next(r, s, &r->view))
        return send_text(r, s, buffer, room);
    if (sight & CONNECTION_ENDING ||
        (r->view.state == JOB_QUEUED && atomic_load(&r->context->draining)))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (io_now() >= s->keep_alive) {
        s->size = (size_t)snprintf(s->text, sizeof s->text, ": waiting\n\n");
        return send_text(r, s, buffer, room);
    }
    return connection_sleep(r->connection, s->keep_alive, false)
               ? 0
               : MHD_CONTENT_READER_END_WITH_ERROR;
}

enum MHD_Result events_get(struct request *r)
{
    struct stream *s = calloc(1, sizeof *s);
    r->state = s;
    r->free_state = free;
    if (!s)
        answer_no_memory(&r->problem);
    if (!s || grade_find(r, &r->problem) || request_watch(r, &r->problem))
        return answer_problem(r, &r->problem);
    s->next = resume_at(r);
    if (s->next > r->view.events)
        s->next = 0;
    s->size = (size_t)snprintf(s->text, sizeof s->text, "retry: %d\n\n", EVENTS_RETRY_MS);
    snprintf(r->outcome, sizeof r->outcome, "stream");
    return answer_stream(r, "text/event-stream", read_stream);
}
