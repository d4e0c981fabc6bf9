#define _GNU_SOURCE
#include "events.h"

#include <stdio.h>
#include <string.h>

static void dispatch(struct events *e)
{
    if (e->data[0])
        e->take(e->user, e->name[0] ? e->name : "message", e->data, e->id);
    e->name[0] = e->data[0] = 0;
}

static void append_data(struct events *e, const char *value)
{
    size_t used = strlen(e->data);
    snprintf(e->data + used, sizeof e->data - used, "%s%s", used ? "\n" : "", value);
}

static void end_line(struct events *e)
{
    e->line[e->length] = 0;
    e->length = 0;
    if (!e->line[0]) {
        dispatch(e);
        return;
    }
    char *value = strchr(e->line, ':');
    if (value == e->line)
        return; /* a comment, which keeps the connection alive */
    if (value) {
        *value++ = 0;
        value += *value == ' ';
    } else {
        value = e->line + strlen(e->line);
    }
    if (!strcmp(e->line, "event"))
        snprintf(e->name, sizeof e->name, "%.63s", value);
    else if (!strcmp(e->line, "id"))
        snprintf(e->id, sizeof e->id, "%.31s", value);
    else if (!strcmp(e->line, "data"))
        append_data(e, value);
}

void events_feed(struct events *e, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool paired = c == '\n' && e->after_return;
        e->after_return = c == '\r';
        if (paired)
            continue;
        if (c == '\n' || c == '\r')
            end_line(e);
        else if (e->length < EVENTS_MAX_LINE)
            e->line[e->length++] = c;
    }
}

void events_restart(struct events *e)
{
    e->length = 0;
    e->after_return = false;
    e->name[0] = e->data[0] = 0;
}
