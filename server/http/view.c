#define _GNU_SOURCE
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../value.h"

/* All but the result.  Of what is in it only a message can be long: 1 KiB, six times that when all of it
 * must be escaped. */
#define MAX_HEAD 8192

const char *view_state_name(enum job_state state)
{
    switch (state) {
    case JOB_STORING:
    case JOB_QUEUED:
        return "queued";
    case JOB_RUNNING:
        return "running";
    case JOB_DONE:
        return "done";
    case JOB_CANCELLED:
        return "cancelled";
    case JOB_REFUSED:
        break;
    }
    return "refused";
}

bool view_is_final(enum job_state state)
{
    return state == JOB_DONE || state == JOB_CANCELLED || state == JOB_REFUSED;
}

static json_t *links(const char *id)
{
    return json_pack("{s:o*, s:o*, s:o*}", "self", json_sprintf("/grades/%s", id), "events",
                     json_sprintf("/grades/%s/events", id), "source",
                     json_sprintf("/grades/%s/source", id));
}

json_t *view_brief(const struct job_view *v)
{
    bool open = !view_is_final(v->state);
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", v->id, "state", view_state_name(v->state),
                     "ahead", v->state == JOB_QUEUED ? json_integer(v->ahead) : json_null(),
                     "estimate_s",
                     open && v->estimate_s > 0 ? value_number(v->estimate_s) : json_null(), "links",
                     links(v->id));
}

/* What a running job does; null before and after. */
static json_t *step(struct job *job, const struct job_view *v)
{
    struct job_event e;
    if (v->state != JOB_RUNNING || !v->events || !job_event(job, v->events - 1, &e))
        return json_null();
    return json_pack("{s:s, s:i, s:i}", "name", e.name, "done", (int)e.done, "total", (int)e.total);
}

static json_t *reason(const struct job_view *v)
{
    if (v->state != JOB_CANCELLED)
        return json_null();
    return json_pack("{s:s, s:s}", "code", v->error.code, "message", v->error.message);
}

/* The members of json without the braces, at the end of text. */
static bool put_members(char text[MAX_HEAD], size_t *used, json_t *json)
{
    size_t n =
        json ? json_dumpb(json, text + *used, MAX_HEAD - *used, JSON_COMPACT | JSON_EMBED) : 0;
    json_decref(json);
    if (!n || n >= MAX_HEAD - *used)
        return false;
    *used += n;
    text[(*used)++] = ',';
    return true;
}

char *view_whole(struct job *job, const struct job_view *v)
{
    bool done = v->state == JOB_DONE;
    char head[MAX_HEAD] = "{";
    size_t used = 1;
    json_t *more = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "task", v->task, "device", v->device,
        "owner", v->owner, "created_at", value_time(v->created_ms), "started_at",
        value_time(v->started_ms), "ended_at", value_time(v->ended_ms), "step", step(job, v),
        "verdict", done ? json_string(kgrade_verdict_name(v->verdict)) : json_null(), "score",
        done ? value_number(v->score) : json_null(), "reason", reason(v));
    bool good = put_members(head, &used, view_brief(v));
    if (!put_members(head, &used, more) || !good)
        return NULL;

    /* The result is JSON already, and long: it is not parsed to be written again. */
    static const char name[] = "\"result\":";
    const char *result = done && v->result ? v->result : "";
    size_t size = strlen(result);
    char *whole = malloc(used + sizeof name + size + 1);
    if (!whole)
        return NULL;
    used -= !size; /* the comma */
    memcpy(whole, head, used);
    if (size) {
        memcpy(whole + used, name, sizeof name - 1);
        memcpy(whole + used + sizeof name - 1, result, size);
        used += sizeof name - 1 + size;
    }
    memcpy(whole + used, "}", 2);
    return whole;
}
