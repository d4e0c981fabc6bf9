/*
 * Reading an AMDGPU code object: the ELF file with a module's device code, and the bundle in which a HIP program carries
 * one such file for each target.  Only what the grader needs: the target, the kernels with their arguments and what they
 * take, and the module's variables.  A code object comes from a candidate: every offset is checked against the file's
 * size, and the metadata (MessagePack in a note) is read strictly, within the limits below.
 *
 * Formats: "User Guide for AMDGPU Backend" of LLVM (code object V3 to V5) and "Clang Offload Bundler".
 */
#ifndef KGRADE_HIP_CODE_OBJECT_H
#define KGRADE_HIP_CODE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../sandbox/base/error.h"

#define CODE_OBJECT_MAX_KERNELS 8192
#define CODE_OBJECT_MAX_ARGS 256      /* of a kernel, hidden ones counted */
#define CODE_OBJECT_MAX_KERNARG 65536 /* bytes of a kernel's arguments */
#define CODE_OBJECT_MAX_NAME 4096
#define CODE_OBJECT_MAX_DEPTH 16 /* of the metadata */
#define CODE_OBJECT_MAX_METADATA (16u << 20)
#define CODE_OBJECT_MAX_BUNDLE 256 /* entries of a bundle */
#define CODE_OBJECT_TARGET 64

enum code_object_arg_kind {
    CODE_ARG_VALUE,  /* by_value: bytes, which may hold pointers if the source has it so */
    CODE_ARG_BUFFER, /* global_buffer: a pointer into device memory */
    CODE_ARG_LOCAL,  /* dynamic_shared_pointer: OpenCL's local memory, not made by HIP */
    CODE_ARG_HIDDEN, /* hidden_*: filled in by the runtime, not by who launches */
    CODE_ARG_OTHER,  /* image, sampler, pipe, queue */
};

struct code_object_arg {
    enum code_object_arg_kind kind;
    uint32_t offset, size; /* in the packed argument block, bytes */
};

struct code_object_kernel {
    char *name;   /* as the program launches it: mangled */
    char *symbol; /* of its descriptor: "NAME.kd" */
    struct code_object_arg *args;
    size_t n_args;
    uint32_t kernarg_bytes, kernarg_align;
    uint32_t explicit_bytes; /* of the block: where the last argument that is not hidden ends */
    uint32_t vector_registers, accumulator_registers, scalar_registers; /* per lane, lane, wave */
    uint32_t vector_spills, scalar_spills; /* registers kept in memory */
    uint32_t shared_bytes;                 /* LDS of a block, static */
    uint32_t private_bytes; /* scratch of a lane: arrays that are indexed, and spills */
    uint32_t wavefront;     /* lanes of a wave: 32 or 64 */
    uint32_t max_threads;   /* of a block; 0: not told */
    /* What it needs of the runtime beside: device-side printf and the like, malloc, enqueuing of kernels. */
    bool calls_host, allocates, launches;
};

struct code_object {
    const uint8_t *data; /* the caller's, which must stay */
    size_t size;
    char target[CODE_OBJECT_TARGET]; /* "gfx90a", "gfx90a:sramecc+:xnack-" */
    struct code_object_kernel *kernels;
    size_t n_kernels;
    uint64_t symbols, n_symbols, strings, strings_size; /* dynamic ones, in the file */
    uint64_t sections;
    uint32_t n_sections;
};

/* Whether it begins like one; more than that is not looked at. */
bool code_object_is(const void *data, size_t size);

/* Points into data.  NULL with `image_invalid`: not a code object, or a broken one. */
struct code_object *code_object_parse(const void *data, size_t size, kgrade_error *err);
void code_object_free(struct code_object *object);
static inline void cleanup_code_object_(struct code_object **object)
{
    code_object_free(*object);
}
#define cleanup_code_object __attribute__((cleanup(cleanup_code_object_)))

/* NULL: there is none of this name. */
const struct code_object_kernel *code_object_kernel(const struct code_object *object,
                                                    const char *name);

struct code_object_variable {
    const char *name;
    uint64_t bytes;
    bool constant;  /* in memory that device code cannot write; HIP's __constant__ can be written */
    bool relocated; /* its initial value holds addresses, which differ between processes */
    const uint8_t *initial; /* NULL: zeros */
};

/* The variables that hosts can find by name, one after the other: start with *cursor 0; false when there are no more. */
bool code_object_next_variable(const struct code_object *object, uint64_t *cursor,
                               struct code_object_variable *ret);

/* Whether the module has variables that device code can write and no host can find, static ones in the source: what they hold
 * cannot be put back between two replays. */
bool code_object_hides_state(const struct code_object *object);

/* Whether code for `image` ("gfx90a", "gfx90a:xnack-") runs on the device `target` ("gfx90a:sramecc+:xnack-"): the same
 * processor, and each feature that the image names as the device has it. */
bool code_object_target_fits(const char *image, const char *target);

/* The code object for a target out of a bundle ("__CLANG_OFFLOAD_BUNDLE__"), or the data itself when that is a code
 * object.  Points into data.  -1 with `image_invalid` (broken, or compressed) or `image_wrong_target` (with the targets that are there). */
int code_object_pick(const void *data, size_t size, const char *target, const uint8_t **ret,
                     size_t *ret_size, kgrade_error *err);

/* How many bytes a bundle or code object takes, from its own headers: for those of which only the place in memory is known.
 * Reads at most `size` bytes, takes the answer from the candidate: never more than `size`.  0: neither of the two. */
size_t code_object_extent(const void *data, size_t size);

#endif
