/*
 * The one error type of kgrade.
 *
 * An error is a value: a stable code that programs may switch on, a sentence for a person, and a hint
 * that says what to do.  It is made where the cause is known and passed up unchanged, to the exit
 * status and to the JSON.  Functions that can fail take `kgrade_error *err` last, return 0 or a
 * pointer on success, -1 or NULL on failure, and fill *err only on failure.  err may be NULL.
 */
#ifndef KGRADE_ERROR_H
#define KGRADE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kgrade_error {
    char code[48];      /* snake_case, never changes once published */
    char message[1024]; /* what happened; a full sentence */
    char hint[512];     /* what to do about it; may be empty */
} kgrade_error;

#ifdef __cplusplus
}
#endif

#endif
