/*
 * A recording: graphs of calls as data, nothing that executes on the host.
 *
 * File: the eight bytes "KGRADE1\n", u64 manifest length, manifest (JSON), then the blobs in the order and with the
 * lengths that the manifest gives.  Blobs are named by their SHA-256, which is checked.  A recording is hostile
 * input: the parser takes nothing on trust, and every limit below is enforced.  Docs: grader/RECORDING.md.
 */
#ifndef KGRADE_RECORDING_H
#define KGRADE_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../sandbox/base/io.h"
#include "hash.h"
#include "task/task.h"

#define RECORDING_MAX_BYTES (512ull << 20)
#define RECORDING_MAX_BLOBS 4096
#define RECORDING_MAX_IMAGES 1024
#define RECORDING_MAX_CALLS 64
#define RECORDING_MAX_NODES 16384     /* per call */
#define RECORDING_MAX_EDGES 65536     /* per call */
#define RECORDING_MAX_ARGS 256        /* per node */
#define RECORDING_MAX_ARG_BYTES 32764 /* per node; CUDA's limit for kernel parameters */
#define RECORDING_MAX_BUFFERS 4096    /* workspace buffers per call */
#define RECORDING_MAX_GLOBALS 4096    /* per call */
#define RECORDING_MAX_ATTRIBUTES 32   /* per node */
#define RECORDING_MAX_NAME 4096
#define RECORDING_MAX_VALUES 4000000 /* of the manifest as JSON */

/* Code: OpenCL C source with its build options, a CUDA cubin, or an AMDGPU code object. */
struct recording_image {
    char *kind;    /* "opencl-c", "cubin", "amdgpu" */
    char *options; /* build options; "" for none */
    size_t blob;   /* index into blobs */
};

/* Device memory that the candidate allocated; index n_params + i in arguments. */
struct recording_buffer {
    uint64_t bytes;
    uint64_t address; /* CUDA, HIP: its place in the arena; 0 for OpenCL */
    bool has_contents;
    size_t blob; /* contents at capture, when has_contents; else all zero */
};

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_FILL, NODE_EMPTY };

enum arg_kind {
    ARG_BYTES,    /* size bytes at `bytes` */
    ARG_BUFFER,   /* a buffer: index < n_params is the task's parameter, else workspace */
    ARG_LOCAL,    /* size bytes of local (shared) memory, OpenCL */
    ARG_VARIABLE, /* the address of byte `at` of a variable of a module, CUDA */
};

struct recording_arg {
    enum arg_kind kind;
    uint32_t offset; /* in the packed parameter block; CUDA, HIP */
    uint32_t size;
    uint8_t *bytes;
    size_t buffer;
    size_t image; /* the variable's module, by its image, ... */
    char *name;   /* ... its symbol there ... */
    uint64_t at;  /* ... and a place in it */
};

/* Device-specific settings of a node, by name: launch and function attributes. */
struct recording_attribute {
    char *name;
    int64_t values[4];
    size_t n;
};

struct recording_edge {
    uint32_t from, to;
    uint8_t from_port, to_port, type; /* CUgraphEdgeData; all 0 for a full edge */
};

struct recording_node {
    enum node_kind kind;
    /* kernel */
    size_t image;
    char *name;
    uint32_t work_dim;  /* 1..3 */
    uint64_t grid[3];   /* OpenCL: global size in work-items; CUDA, HIP: blocks */
    uint64_t block[3];  /* OpenCL: local size, all 0 when the runtime chooses; CUDA, HIP: threads */
    uint64_t offset[3]; /* OpenCL global offset */
    uint32_t shared_bytes;
    struct recording_arg *args;
    size_t n_args;
    struct recording_attribute *attributes;
    size_t n_attributes;
    /* copy, fill */
    size_t from_buffer,
        to_buffer; /* like ARG_BUFFER; CUDA, HIP: SIZE_MAX, with the address in the offset */
    uint64_t from_offset, to_offset;
    uint64_t bytes;                      /* per row for pitched copies and fills */
    uint64_t rows, from_pitch, to_pitch; /* rows 1 for linear ones */
    uint8_t pattern[128];
    uint32_t pattern_bytes;
};

struct recording_global {
    size_t image;
    char *name;
    size_t blob; /* value at capture */
};

struct recording_call {
    int64_t dims[TASK_MAX_PARAMS];
    struct recording_node *nodes;
    size_t n_nodes;
    struct recording_edge *edges;
    size_t n_edges;
    struct recording_buffer *buffers;
    size_t n_buffers;
    struct recording_global *globals;
    size_t n_globals;
};

/* Blobs that whoever gets a recording has from earlier ones, by their hashes. */
struct recording_known {
    char (*hashes)[HASH_HEX];
    size_t n;
};

struct recording {
    char *device;    /* "opencl", "cuda", "hip" */
    char *task;      /* name */
    size_t n_params; /* of the task */
    size_t n_dims;
    struct recording_image *images;
    size_t n_images;
    struct recording_call *calls;
    size_t n_calls;
    struct bytes *blobs; /* data NULL: one that is known, see recording_parse_part */
    char (*blob_hashes)[HASH_HEX];
    size_t n_blobs;
    const struct recording_known *known; /* borrowed; their data is left out.  NULL: all is in it */
};

struct recording *recording_new(const char *device, const struct task *task);
void recording_free(struct recording *recording);
static inline void cleanup_recording_(struct recording **recording)
{
    recording_free(*recording);
}
#define cleanup_recording __attribute__((cleanup(cleanup_recording_)))

/* Adds a blob unless one with the same hash is there; returns its index. Copies. SIZE_MAX: no memory or limit. */
size_t recording_add_blob(struct recording *recording, const void *data, size_t size);

/* Adds an image unless an equal one is there; returns its index. */
size_t recording_add_image(struct recording *recording, const char *kind, const char *options,
                           const void *data, size_t size);

/* The same for data whose hash is known to be right: code is large, and the same in many calls. */
size_t recording_add_hashed_image(struct recording *recording, const char *kind,
                                  const char *options, const char hash[HASH_HEX], const void *data,
                                  size_t size);

/* Appends an empty call; the pointer is valid until the next recording_add_call. */
struct recording_call *recording_add_call(struct recording *recording, const int64_t *dims);
struct recording_node *recording_add_node(struct recording_call *call, enum node_kind kind);
struct recording_arg *recording_add_arg(struct recording_node *node, enum arg_kind kind);
int recording_add_edge(struct recording_call *call, uint32_t from, uint32_t to);
struct recording_buffer *recording_add_buffer(struct recording_call *call, uint64_t bytes);
struct recording_global *recording_add_global(struct recording_call *call, size_t image,
                                              const char *name, size_t blob);
struct recording_attribute *recording_add_attribute(struct recording_node *node, const char *name);

/* Serialises.  The same recording gives the same bytes. */
int recording_write(const struct recording *recording, struct bytes *ret, kgrade_error *err);

/* Parses and validates: structure, limits, hashes, indices, acyclic edges, arguments inside limits.
 * -1 with `recording_invalid`. */
int recording_parse(const void *data, size_t size, struct recording **ret, kgrade_error *err);

/*
 * Between a recorder and the grader, who gets a recording for each call, code of megabytes goes over once: later recordings name it
 * by its hash ("known" with its size, in place of "bytes").  Such a part is to be merged into a recording that has what it names.
 */
int recording_parse_part(const void *data, size_t size, struct recording **ret, kgrade_error *err);

/* Adds the blobs of a recording that was handed over to those that are known.  -1 without memory. */
int recording_know(struct recording_known *known, const struct recording *recording);
void recording_forget(struct recording_known *known);

/* Copies what a part names from `from`, as far as it is there. */
int recording_complete(struct recording *part, const struct recording *from, kgrade_error *err);

/* Appends the calls of `other` (which is emptied) to `recording`; images and blobs are shared.  -1 also where it names what
 * `recording` does not have. */
int recording_merge(struct recording *recording, struct recording *other, kgrade_error *err);

/* Whether a call has anything for the device to do.  A copy or a fill is work, too: what comes of it is judged like a kernel's. */
bool recording_has_work(const struct recording_call *call);

/* Whether it fits the task and has a call for these dims; NULL when not. */
const struct recording_call *recording_find_call(const struct recording *recording,
                                                 const int64_t *dims);

/* The manifest as JSON, with images' sizes and hashes instead of contents: `kgrade recording show --json`. */
json_t *recording_to_json(const struct recording *recording);

#endif
