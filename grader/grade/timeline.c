#include "timeline.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/io.h"

static bool is_wanted(void)
{
    const char *value = getenv("KGRADE_TIMELINE");
    return value && *value;
}

static void add(struct timeline *t, const char *text)
{
    size_t used = strlen(t->text);
    snprintf(t->text + used, sizeof t->text - used, "%s", text);
}

static void add_time(struct timeline *t, uint64_t now)
{
    char text[32];
    snprintf(text, sizeof text, " %.2f", (double)(now - t->stage_ns) / (double)IO_NS_PER_MS);
    add(t, text);
    t->stage_ns = now;
}

void timeline_begin(struct timeline *t, const char *what)
{
    *t = (struct timeline){.start_ns = is_wanted() ? io_now() : 0};
    t->stage_ns = t->start_ns;
    if (t->start_ns)
        add(t, what);
}

void timeline_stage(struct timeline *t, const char *stage)
{
    if (!t->start_ns)
        return;
    add_time(t, io_now());
    add(t, " ");
    /* It comes from a process with a candidate in it. */
    for (; *stage; stage++)
        add(t, (char[]){isalnum((unsigned char)*stage) || *stage == '_' ? *stage : '?', '\0'});
}

void timeline_end(struct timeline *t)
{
    if (!t->start_ns)
        return;
    uint64_t now = io_now();
    add_time(t, now);
    fprintf(stderr, "timeline %.2f %.2f %s\n", (double)t->start_ns / (double)IO_NS_PER_MS,
            (double)(now - t->start_ns) / (double)IO_NS_PER_MS, t->text);
}
