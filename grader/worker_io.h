/* What the three kinds of worker share: answering the grader over descriptor 3. */
#ifndef KGRADE_WORKER_IO_H
#define KGRADE_WORKER_IO_H

#include <jansson.h>

#include "wire.h"

#define WORKER_SOCKET 3
#define WORKER_MAX_LOADS                                                                           \
    64 /* libraries that one process loads: a worker two, tests a pair for each task */
#define WORKER_SEND_NS (60 * IO_NS_PER_S)

/* Answers.  worker_ok steals json (NULL for none) and adds "ok":true.  Return 0, or -1 when the grader is gone. */
int worker_ok(json_t *json, const void *blob, size_t blob_size, int fd);
int worker_fail(const char *verdict, const kgrade_error *err);

/* Runs a start function, if there is one and none has failed; the failure is kept for the answer to "open". */
void worker_start_ahead(int (*start)(kgrade_error *err));
int worker_started(kgrade_error *err);

/* Waits for the next request without a deadline: the jail has one.  0, or non-zero when the grader is gone. */
int worker_next(struct wire_message *ret, const char **ret_op);

/* From now on worker_next stays awake for so many ns before it sleeps. */
void worker_stay_awake(uint64_t ns);

/* dlopen of a library that came as a descriptor; NULL on failure.  worker_load_error: the loader's words without the
 * descriptor's path. */
void *worker_load(int fd);
const char *worker_load_error(void);

#endif
