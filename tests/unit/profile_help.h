/* What the tests of profiles share: logs written by hand. */
#ifndef PROFILE_HELP_H
#define PROFILE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <jansson.h>

#include "grader/profile/spans.h"

#define USER LOG_DOMAIN_DEFAULT

static const char *const names[] = {
    "a", "b", "candidate.entry", "clFinish", "backend.sync", "clWaitForEvents"};
enum { A, B, ENTRY, FINISH, SYNC, WAIT };

#define EVENTS 16

struct script {
    struct log_event events[2][EVENTS];
    struct span_logs logs;
};

static inline void begin_script(struct script *s)
{
    *s = (struct script){.logs = {.n_threads = 2, .names = names, .n_names = 6}};
    s->logs.events[0] = s->events[0];
    s->logs.events[1] = s->events[1];
}

static inline void add(struct script *s, size_t thread, uint64_t ticks, enum log_kind kind,
                       unsigned domain, unsigned name, uint64_t number)
{
    s->events[thread][s->logs.n_events[thread]++] =
        (struct log_event){ticks, log_pack(kind, domain, name, number)};
}

static inline const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

#endif
