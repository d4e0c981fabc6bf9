/* A stream of server-sent events (HTML Living Standard, section 9.2), taken apart as its bytes arrive. */
#ifndef KGRADE_CLI_EVENTS_H
#define KGRADE_CLI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

/* Longer lines are cut: nothing that kgraded sends is near it. */
#define EVENTS_MAX_LINE 4096

struct events {
    /* Called for each event with its name, its data and the id of the last event that had one. */
    void (*take)(void *user, const char *name, const char *data, const char *id);
    void *user;
    char line[EVENTS_MAX_LINE + 1];
    size_t length;
    bool after_return; /* a newline now belongs to the carriage return before it */
    char name[64], id[32], data[EVENTS_MAX_LINE + 1];
};

void events_feed(struct events *events, const char *text, size_t size);

/* A new connection starts a new stream: what was begun is dropped, the id is kept. */
void events_restart(struct events *events);

#endif
