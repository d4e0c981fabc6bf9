#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../shared/runs.h"
#include "capture_node.h"

#define MAX_CONTENT_BYTES                                                                          \
    (384ull << 20)      /* of the candidate's memory that is not zero, in one recording */
#define MAX_PIECES 256u /* that blocks are split into; a replay restores one after the other */
#define MAX_VARIABLE_BYTES (256ull << 20) /* of one variable of a module */

static int add_buffer(struct capture *c, uint64_t address, uint64_t bytes, const void *contents)
{
    struct recording_buffer *buffer = recording_add_buffer(c->call, bytes);
    if (!buffer)
        return fail(c->err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The call uses more than %d separate pieces of memory of its own.",
                    RECORDING_MAX_BUFFERS);
    buffer->address = address;
    buffer->has_contents = contents != NULL;
    if (!contents)
        return 0;
    buffer->blob = recording_add_blob(c->recording, contents, bytes);
    return buffer->blob == SIZE_MAX
               ? fail(c->err, "recording_too_large", "Keep less state between calls.",
                      "The recording holds more than %d blobs.", RECORDING_MAX_BLOBS)
               : 0;
}

/* A block as pieces that are zero and pieces that are not. */
static int add_contents(struct capture *c, const struct workspace_block *block, size_t max_pieces,
                        uint64_t *content)
{
    cleanup_free uint8_t *copy = malloc(block->bytes);
    cleanup_free struct run *runs = malloc(max_pieces * sizeof *runs);
    if (!copy || !runs)
        return fail(c->err, "out_of_memory", NULL,
                    "No memory for %llu bytes of the candidate's memory.",
                    (unsigned long long)block->bytes);
    DRIVER_TRY(c->err, cuMemcpyDtoH(copy, block->address, block->bytes));
    size_t n = runs_of(copy, block->bytes, runs, max_pieces);
    for (size_t i = 0; i < n; i++) {
        if (!runs[i].is_zero)
            *content += runs[i].bytes;
        if (*content > MAX_CONTENT_BYTES)
            return fail(c->err, "workspace_too_large",
                        "Keep less state between calls, or clear scratch memory after use.",
                        "The call may depend on more than %llu MiB of memory that the candidate "
                        "wrote before it.",
                        MAX_CONTENT_BYTES >> 20);
        if (add_buffer(c, block->address + runs[i].from, runs[i].bytes,
                       runs[i].is_zero ? NULL : copy + runs[i].from))
            return -1;
    }
    return 0;
}

/* What was allocated in the call held nothing before it, so that blocks side by side are one: a framework makes one for every
 * tensor in between.  Returns how many are left. */
static size_t merge_fresh(struct workspace_block *blocks, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct workspace_block *last = kept ? &blocks[kept - 1] : NULL;
        if (last && !last->is_marked && !blocks[i].is_marked &&
            last->address + last->bytes == blocks[i].address)
            last->bytes += blocks[i].bytes;
        else
            blocks[kept++] = blocks[i];
    }
    return kept;
}

int capture_memory(struct capture *c)
{
    size_t n = workspace_blocks(c->place->workspace, NULL, 0);
    cleanup_free struct workspace_block *blocks = malloc((n + 1) * sizeof *blocks);
    if (!blocks)
        return fail(c->err, "out_of_memory", NULL, "No memory for a list of blocks.");
    size_t got = workspace_blocks(c->place->workspace, blocks, n);
    n = merge_fresh(blocks, got < n ? got : n);
    if (n > RECORDING_MAX_BUFFERS)
        return fail(c->err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The candidate holds %zu blocks of memory; at most %d can be recorded.", n,
                    RECORDING_MAX_BUFFERS);
    size_t pieces = n < MAX_PIECES ? MAX_PIECES / (n + 1) : 1;
    uint64_t content = 0;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].is_marked ? add_contents(c, &blocks[i], pieces, &content)
                                : add_buffer(c, blocks[i].address, blocks[i].bytes, NULL))
            return -1;
    return 0;
}

/* Whether a variable still has the value that its image gives it. */
static bool is_initial(const struct cubin_variable *variable, const uint8_t *value)
{
    if (variable->initial)
        return !memcmp(value, variable->initial, variable->bytes);
    for (uint64_t i = 0; i < variable->bytes; i++)
        if (value[i])
            return false;
    return true;
}

static int add_global(struct capture *c, const struct capture_image *image,
                      const struct cubin_variable *variable)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    /* What the driver does not find, host code cannot have set; and addresses are set by the loader, here as there. */
    if (variable->relocated ||
        cuModuleGetGlobal(&address, &bytes, image->module, variable->name) != CUDA_SUCCESS ||
        bytes != variable->bytes)
        return 0;
    if (bytes > MAX_VARIABLE_BYTES)
        return fail(c->err, "workspace_too_large", "Use memory from cudaMalloc for large arrays.",
                    "The variable %.200s has %zu bytes; at most %llu can be recorded.",
                    variable->name, bytes, MAX_VARIABLE_BYTES);
    cleanup_free uint8_t *value = malloc(bytes);
    if (!value)
        return fail(c->err, "out_of_memory", NULL, "No memory for a variable of %zu bytes.", bytes);
    DRIVER_TRY(c->err, cuMemcpyDtoH(value, address, bytes));
    if (is_initial(variable, value))
        return 0;
    size_t blob = recording_add_blob(c->recording, value, bytes);
    if (blob == SIZE_MAX || !recording_add_global(c->call, image->image, variable->name, blob))
        return fail(c->err, "recording_too_large", "Keep less state in variables.",
                    "The modules have more variables with values than can be recorded.");
    driver_trace("variable %s of image %zu carried", variable->name, image->image);
    return 0;
}

int capture_globals(struct capture *c)
{
    for (size_t i = 0; i < c->n_images; i++) {
        struct cubin_variable variable;
        uint64_t cursor = 0;
        /* The same image loaded twice has two sets of variables; only one can be put back. */
        for (size_t k = 0; k < i; k++)
            if (c->images[k].image == c->images[i].image)
                return fail(c->err, "ambiguous_kernel", "Load each module once.",
                            "The same code was loaded twice, and kernels of both are used.");
        while (cubin_next_variable(&c->images[i].source.cubin, &cursor, &variable))
            if (add_global(c, &c->images[i], &variable))
                return -1;
    }
    return 0;
}
