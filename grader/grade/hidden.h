/*
 * Recording the hidden cases beside the public ones.
 *
 * An interpreter compiles kernels when they are first called, for seconds, and the recorder of the hidden cases must do it again: it
 * shares nothing with the other, least of all what would tell the candidate which of the two it is in.  So both are at work at the
 * same time.  Only where kernels leave the processors alone, whose host overhead would suffer; a compiled candidate is done in
 * milliseconds, and is recorded in two steps.
 */
#ifndef KGRADE_HIDDEN_H
#define KGRADE_HIDDEN_H

#include "../record/record.h"

struct hidden;

/* Starts recording what `request` says, leaving out calls that the public cases have.  NULL: nothing to record, or it could not be
 * started; it can then be recorded afterwards. */
struct hidden *hidden_begin(kgrade *engine, const struct record_request *request,
                            const struct task_case *publics, size_t n_publics);

/* Waits for it and frees it; `wanted` false: it is told to stop.  Else its calls come into `recording` and its dying worker into
 * `graves`.  -1 with the finding. */
int hidden_end(struct hidden *hidden, bool wanted, struct recording *recording,
               struct graves *graves, struct finding *finding);

#endif
