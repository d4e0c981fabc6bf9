/*
 * What the recorder knows of the candidate's OpenCL objects.
 *
 * The recorder program exports the cl* functions itself (entry_points.c), so a candidate's calls arrive here.  Outside a
 * capture they are passed on to the real library and only noted: which source a program has, which arguments a
 * kernel has been given.  Inside a capture, work is written down as nodes instead of being enqueued.
 */
#ifndef KGRADE_OPENCL_CAPTURE_H
#define KGRADE_OPENCL_CAPTURE_H

#include <pthread.h>
#include <stdbool.h>

#include "../../recording.h"
#include "pick.h"

#define CAPTURE_MAX_OBJECTS 1024 /* of each kind, alive at the same time */
#define CAPTURE_TOO_MANY_OBJECTS "too_many_objects"
#define CAPTURE_MAX_SOURCE_BYTES (4u << 20)

/*
 * Objects live here for as long as the candidate has references, which are counted here: the real library's counts
 * say less, since a command that still runs holds some too, and a handle comes back once those are gone.
 */
struct tracked_program {
    cl_program handle;
    unsigned references; /* the candidate's, and one for each tracked kernel of it */
    char *source;
    char *options;
};

struct tracked_arg {
    bool set;
    bool local; /* size bytes of local memory */
    size_t size;
    uint8_t *bytes; /* size bytes, unless local */
};

struct tracked_kernel {
    cl_kernel handle;
    unsigned references;
    struct tracked_program *program; /* NULL: its source is not known */
    char *name;
    struct tracked_arg args[RECORDING_MAX_ARGS];
    size_t n_args; /* one past the highest index set */
};

struct tracked_buffer {
    cl_mem handle;
    unsigned references;
    uint64_t bytes;
    size_t param;   /* index in the task, or SIZE_MAX for the candidate's own */
    size_t in_call; /* index among the call's workspace buffers, or SIZE_MAX while not used in it */
};

struct capture {
    pthread_mutex_t lock;
    struct pick pick;
    cl_command_queue queue; /* the one candidates are given; NULL before it exists */
    bool capturing;
    pthread_t caller; /* the thread that makes the captured call */
    struct tracked_program *programs[CAPTURE_MAX_OBJECTS];
    struct tracked_kernel *kernels[CAPTURE_MAX_OBJECTS];
    struct tracked_buffer buffers[CAPTURE_MAX_OBJECTS];
    size_t n_programs, n_kernels, n_buffers;
    uint64_t workspace_bytes, workspace_limit; /* the candidate's own buffers */
    struct recording *recording;               /* during a capture */
    struct recording_call *call;
    kgrade_error refusal; /* the first reason not to accept the call; code empty for none */
};

extern struct capture capture_state;

/* Notes the first refusal of a capture. */
void capture_refuse(const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Objects; the lock is held by the caller. */
struct tracked_program *capture_find_program(cl_program handle);
struct tracked_kernel *capture_find_kernel(cl_kernel handle);
struct tracked_buffer *capture_find_buffer(cl_mem handle);
void capture_add_program(cl_program handle, const char *source);
void capture_add_kernel(cl_kernel handle, cl_program program, const char *name);
void capture_add_buffer(cl_mem handle, uint64_t bytes, size_t param);
void capture_retain_program(cl_program handle);
void capture_retain_kernel(cl_kernel handle);
void capture_retain_buffer(cl_mem handle);
void capture_release_program(cl_program handle);
void capture_release_kernel(cl_kernel handle);
void capture_release_buffer(cl_mem handle);
void capture_set_arg(cl_kernel handle, cl_uint index, size_t size, const void *value);

/* Writes nodes of the captured call; the lock is held.  Return a CL error code for the candidate. */
cl_int capture_kernel_node(cl_kernel handle, cl_uint work_dim, const size_t *offset,
                           const size_t *global, const size_t *local);
cl_int capture_copy_node(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                         size_t bytes);
cl_int capture_fill_node(cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset,
                         size_t bytes);

/* Resolves the real library.  -1 with `device_failed`. */
int entry_points_open(kgrade_error *err);

#endif
