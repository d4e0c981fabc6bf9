/* What the files with the functions for candidates share.  Each locks the capture; none is called by our own code. */
#ifndef KGRADE_HIP_ENTRY_H
#define KGRADE_HIP_ENTRY_H

#include "capture.h"

/* A function that a candidate finds in place of the library's. */
#define ENTRY(type, name, arguments)                                                               \
    __attribute__((visibility("default"))) type name arguments;                                    \
    type name arguments

static inline void entry_unlock(pthread_mutex_t **lock)
{
    pthread_mutex_unlock(*lock);
}
/* Until the end of the block. */
#define ENTRY_LOCK()                                                                               \
    __attribute__((cleanup(entry_unlock))) pthread_mutex_t *entry_lock_ = &capture.lock;           \
    pthread_mutex_lock(entry_lock_)

/* Remembers what hipGetLastError will tell, and returns it. */
hip_error entry_done(hip_error result);

enum entry_wait { ENTRY_WAIT_REAL, ENTRY_WAIT_ABSORBED, ENTRY_WAIT_REFUSED };

/* Whether to wait for the device, in the function `name`.  During a call that is written down nothing runs: waiting does nothing where
 * the task's convention has it, and is refused elsewhere.  The lock is held. */
enum entry_wait entry_wait(const char *name);

/* A stream's, or NULL with the refusal noted where the legacy stream is named during a call that is written down. */
struct stream *entry_stream(hip_stream stream);

#endif
