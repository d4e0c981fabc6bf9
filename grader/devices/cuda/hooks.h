/*
 * The driver functions that the recorder provides itself, in place of the driver's: memory comes from the arena's
 * workspace, and waiting for the device during a captured call is noticed.
 *
 * Whoever looks for a driver function finds ours first: the program exports the names (for code linked against the driver),
 * it exports dlsym (for the CUDA runtime, also where a library carries one of its own), and it answers
 * cuGetProcAddress, through which the runtime then fetches the rest.
 */
#ifndef KGRADE_CUDA_HOOKS_H
#define KGRADE_CUDA_HOOKS_H

#include "../shared/workspace.h"
#include "driver.h"

/* Says where allocations come from.  -1 with `device_failed` when the driver lacks a function. */
int hooks_open(struct workspace *workspace, kgrade_error *err);

/* From here on, driver functions that are looked for are ours.  After CUPTI and the context have got theirs, and before anything
 * of the candidate's, its frameworks included, can look: a runtime looks once. */
void hooks_answer(void);

/* From here on, allocations are served from the workspace. */
void hooks_start(void);

enum hooks_sync {
    HOOKS_SYNC_REAL,   /* waiting waits */
    HOOKS_SYNC_ABSORB, /* waiting does nothing and succeeds */
    HOOKS_SYNC_REFUSE, /* waiting fails, and is reported */
};

/* Called when a call begins, and when it has ended: for who keeps freed memory back (torch_memory.c). */
void hooks_at_calls(void (*function)(void));

void hooks_begin_call(enum hooks_sync sync);

struct hooks_seen {
    unsigned int absorbed;    /* waits that did nothing */
    const char *refused_sync; /* the first wait that was refused; NULL: none */
    const char
        *unsupported; /* the first function called that a recording has no place for; NULL: none */
    const char *unsupported_code, *unsupported_hint;
    uint64_t failed_allocation; /* bytes of the first allocation that did not fit; 0: none */
};

void hooks_end_call(struct hooks_seen *ret);

/* The driver's own: waits for everything in the current context. */
CUresult hooks_synchronize(void);

#endif
