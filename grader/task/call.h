/*
 * Calling a C function with the signature that a task gives it, through libffi.
 *
 * Three signatures come from one task.json:
 *   the candidate's entry   parameters in call order; buffers and the stream as pointers, dims and
 *                           scalars by value in their dtype
 *   the reference           the same order without the stream; buffers as double * (floats) or
 *                           int64_t * (the rest), const for `in`; dims int64_t; scalars double or
 *                           int64_t
 *   the device's reference  int: 0, or an error of the device; parameters as the reference has them,
 *                           all pointers to device memory, `in` buffers with the elements as they
 *                           are stored; one more argument at the end, the queue to work on
 */
#ifndef KGRADE_CALL_H
#define KGRADE_CALL_H

#include "task.h"

struct call; /* a prepared signature with its arguments */

int call_new_entry(const struct task *task, struct call **ret, kgrade_error *err);
/* A function without arguments, whatever the task's signature. */
int call_new_plain(struct call **ret, kgrade_error *err);
int call_new_reference(const struct task *task, struct call **ret, kgrade_error *err);
int call_new_device_reference(const struct task *task, struct call **ret, kgrade_error *err);
void call_free(struct call *call);

/* Sets all dims and scalars. */
void call_set_dims(struct call *call, const int64_t *dims);
/* Sets a buffer or the stream; param indexes task->params. */
void call_set_pointer(struct call *call, size_t param, void *value);
/* Sets the queue of a device's reference. */
void call_set_queue(struct call *call, void *queue);

/* The hot path: one ffi_call and nothing else. */
void call_invoke(struct call *call, void (*function)(void));
/* The same for a device's reference; what it returned. */
int call_invoke_device_reference(struct call *call, void (*function)(void));

/* The candidate's prototype as C text, in the vocabulary of a device: buffers as "cl_mem a" or
 * "const float *a". `buffer` formats one buffer parameter, `stream` is the type of the queue.
 * Caller frees. */
char *call_prototype(const struct task *task, char *(*buffer)(const struct param *),
                     const char *stream);

#endif
