/* Telling the caller of a grade, a profile or a comparison how far it is, and hearing that it is to end. */
#ifndef KGRADE_TELLING_H
#define KGRADE_TELLING_H

#include "../finding.h"
#include "../kgrade.h"

struct telling {
    kgrade_progress progress; /* NULL: nobody wants to know */
    void *data;
    const char *what; /* of the message when it ends: "The grade" */
    bool cancelled;
    const char *step; /* told last; NULL: nothing yet */
    unsigned done, total;
};

/* False: it is to end. */
bool telling_tell(struct telling *telling, const char *step, size_t done, size_t total);

/* The same; -1 with the finding filled when it is to end. */
int telling_proceed(struct telling *telling, const char *step, size_t done, size_t total,
                    struct finding *finding);

/* Fills the finding. -1. */
int telling_cancelled(const struct telling *telling, struct finding *finding);

/* For jails_ask_while_waiting with a struct telling: what was told last is told again, so that the caller can cancel. */
bool telling_again(void *telling);

#endif
