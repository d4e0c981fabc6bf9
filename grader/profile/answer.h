/* What a process that made a phase of a profile said, checked: candidate code ran in it. */
#ifndef KGRADE_PROFILE_ANSWER_H
#define KGRADE_PROFILE_ANSWER_H

#include "../wire.h"
#include "collector.h"
#include "spans.h"

#define ANSWER_MAX_CALLS 1000000

struct answer {
    const char *clock;
    double tick_ns;
    unsigned calls, block;
    struct collector_costs before, after;
    double *end_to_end; /* owned */
    size_t n_end_to_end;
    const char **names; /* owned list of texts of the message */
    struct span_logs logs;
};

/* Reads a message, which must outlive *ret.  -1 with `recorder_tampered`, or `out_of_memory`. */
int answer_read(const struct wire_message *message, struct answer *ret, kgrade_error *err);
void answer_free(struct answer *answer);
#define cleanup_answer __attribute__((cleanup(answer_free)))

/* Whether the cost of a range was another afterwards: the machine did not keep still. */
bool answer_drifted(const struct answer *answer);

#endif
