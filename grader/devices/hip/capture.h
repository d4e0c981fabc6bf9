/*
 * What the recorder knows of the candidate's HIP: code that it has loaded, streams, events, and the call that is being written
 * down.
 *
 * The recorder provides all HIP functions that a candidate may call (entry_*.c), so a call is written down where it is made, and nothing
 * depends on what the runtime's own capture notices: before ROCm 7.14 that let illegal calls pass unreported (pytorch#187110).
 */
#ifndef KGRADE_HIP_CAPTURE_H
#define KGRADE_HIP_CAPTURE_H

#include <pthread.h>

#include "../../record/worker.h"
#include "../shared/workspace.h"
#include "arena.h"
#include "code_object.h"
#include "runtime.h"

#define CAPTURE_MAX_OBJECTS 4096 /* modules, functions, variables, streams, events: of each */
#define CAPTURE_MAX_IMAGE_BYTES (256u << 20)
#define CAPTURE_MAX_VARIABLE_BYTES (256ull << 20)
#define CAPTURE_MAX_WAITS 1024 /* nodes that one stream or event waits for */

/* A loaded code object; candidates get its address for a hipModule_t. */
struct module {
    uint8_t *image;
    size_t size;
    struct code_object *object;
    hip_module handle;    /* NULL: not loaded yet */
    size_t image_in_call; /* index in the recording; SIZE_MAX: not used in this call */
    kgrade_error broken;  /* why it cannot be used; code empty when it can */
};

/* A kernel; candidates get its address for a hipFunction_t. */
struct function {
    struct module *module;
    const void
        *host; /* the function that stands for it in host code; NULL: from hipModuleGetFunction */
    char *name;
    const struct code_object_kernel *kernel;
    hip_function handle;
};

struct variable {
    struct module *module;
    const void *host;
    char *name;
};

/* Nodes of the call, each once. */
struct waits {
    uint32_t nodes[CAPTURE_MAX_WAITS];
    size_t n;
};

/* Candidates get its address for a hipStream_t. */
struct stream {
    hip_stream handle;
    bool
        joined; /* to the call that is being written down: waits for something of it, or is the task's */
    struct waits waits;
};

struct event {
    hip_event handle;
    unsigned call; /* in which it was recorded on a stream that had joined; 0: never */
    struct waits waits;
};

struct capture {
    pthread_mutex_t lock;
    const struct task *task;
    bool has_stream; /* the task's entry takes a stream: then it must not wait for the device */
    struct arena arena;
    struct workspace *workspace;
    struct module *modules[CAPTURE_MAX_OBJECTS];
    struct function *functions[CAPTURE_MAX_OBJECTS];
    struct variable *variables[CAPTURE_MAX_OBJECTS];
    struct stream *streams[CAPTURE_MAX_OBJECTS];
    struct event *events[CAPTURE_MAX_OBJECTS];
    size_t n_modules, n_functions, n_variables, n_streams, n_events;
    struct stream *main; /* the one candidates are given */

    bool writing;
    unsigned n_calls;            /* written down so far, this one counted */
    struct recording *recording; /* during a captured call */
    struct recording_call *call;
    unsigned launches, outside;
    kgrade_error refusal; /* the first reason not to accept the call; code empty for none */
};

extern struct capture capture;

/* Notes the first refusal; the lock is held. */
void capture_refuse(const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- modules.c; the lock is held by the caller.  NULL functions' results: refused, with the reason noted --- */

/* A code object, or a bundle of some; what is not for this device is kept as broken.  NULL: no memory. */
struct module *module_add(const void *bundle);
void module_remove(struct module *module);
struct module *module_find(const void *handle);
/* Loads it into the device. */
hip_error module_load(struct module *module);
void function_register(struct module *module, const void *host, const char *name);
void variable_register(struct module *module, const void *host, const char *name);
/* By what launches name: a host function, or what hipModuleGetFunction gave. */
struct function *function_find(const void *handle);
struct function *function_get(struct module *module, const char *name);
/* Loads its module.  A result for the candidate. */
hip_error function_load(struct function *function);
/* The address of a variable by its host's twin. */
hip_error variable_find(const void *host, void **ret, size_t *ret_bytes);

/* --- streams.c; the lock is held by the caller --- */

struct stream *stream_add(hip_stream handle);
/* NULL: unknown.  The default stream and a thread's own mean the task's. */
struct stream *stream_find(hip_stream stream);
void stream_remove(struct stream *stream);
struct event *event_add(hip_event handle);
struct event *event_find(hip_event event);
void event_remove(struct event *event);
void event_note(struct event *event, const struct stream *stream);
void stream_note_wait(struct stream *stream, const struct event *event);
/* Before a call: nothing is known of any stream. */
void streams_begin(void);
/* Whether all that was queued is waited for by the task's stream.  -1 with `unjoined_stream`. */
int streams_check_joined(kgrade_error *err);
/* Waits for a stream's work are what the next node gets; the node is then what the stream waits for.  -1: refused. */
int stream_add_edges(struct stream *stream);

/* --- nodes.c; the lock is held by the caller.  Results for the candidate --- */

/* parameters or, when NULL, extra, as hipModuleLaunchKernel takes them. */
hip_error node_kernel(struct stream *stream, struct function *function, const uint32_t grid[3],
                      const uint32_t block[3], uint32_t shared_bytes, void **parameters,
                      void **extra);
hip_error node_copy(struct stream *stream, uint64_t to, uint64_t from, uint64_t bytes);
hip_error node_fill(struct stream *stream, uint64_t to, uint32_t value, uint32_t value_bytes,
                    uint64_t bytes);

/* --- memory.c --- */

/* The candidate's memory and the variables of the modules that the call uses go into the call. */
int memory_write(kgrade_error *err);

#endif
