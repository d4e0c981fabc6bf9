#include "contents.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "runs.h"

struct writer {
    const struct contents_source *source;
    struct recording *recording;
    struct recording_call *call;
    uint64_t bytes; /* that are not zero, so far */
    kgrade_error *err;
};

static int add_buffer(const struct writer *w, uint64_t address, uint64_t bytes,
                      const void *contents)
{
    struct recording_buffer *buffer = recording_add_buffer(w->call, bytes);
    if (!buffer)
        return fail(w->err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The call uses more than %d separate pieces of memory of its own.",
                    RECORDING_MAX_BUFFERS);
    buffer->address = w->source->address ? w->source->address(address) : address;
    buffer->has_contents = contents != NULL;
    if (!contents)
        return 0;
    buffer->blob = recording_add_blob(w->recording, contents, bytes);
    return buffer->blob == SIZE_MAX
               ? fail(w->err, "recording_too_large", "Keep less state between calls.",
                      "The recording holds more than %d blobs.", RECORDING_MAX_BLOBS)
               : 0;
}

static int add_chunks(const struct writer *w, uint64_t address, uint64_t bytes,
                      const uint8_t *contents)
{
    while (bytes) {
        uint64_t now = CONTENTS_CHUNK - address % CONTENTS_CHUNK;
        now = now < bytes ? now : bytes;
        if (add_buffer(w, address, now, contents))
            return -1;
        address += now;
        contents += now;
        bytes -= now;
    }
    return 0;
}

/* A block as pieces that are zero and pieces that are not. */
static int add_contents(struct writer *w, const struct workspace_block *block, size_t max_pieces)
{
    cleanup_free uint8_t *copy = malloc(block->bytes);
    cleanup_free struct run *runs = malloc(max_pieces * sizeof *runs);
    if (!copy || !runs)
        return fail(w->err, "out_of_memory", NULL,
                    "No memory for %llu bytes of the candidate's memory.",
                    (unsigned long long)block->bytes);
    if (w->source->read(copy, block->address, block->bytes, w->err))
        return -1;
    size_t n = runs_of(copy, block->bytes, runs, max_pieces);
    for (size_t i = 0; i < n; i++) {
        if (!runs[i].is_zero)
            w->bytes += runs[i].bytes;
        if (w->bytes > CONTENTS_MAX_BYTES)
            return fail(w->err, "workspace_too_large",
                        "Keep less state between calls, or clear scratch memory after use.",
                        "The call may depend on more than %llu MiB of memory that the candidate "
                        "wrote before it.",
                        CONTENTS_MAX_BYTES >> 20);
        const void *contents = runs[i].is_zero ? NULL : copy + runs[i].from;
        if (contents ? add_chunks(w, block->address + runs[i].from, runs[i].bytes, contents)
                     : add_buffer(w, block->address + runs[i].from, runs[i].bytes, NULL))
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

/* Blocks that were handed out in the call, freed and used again in parts are on no list, but the call's work is in them: their
 * ends are, so that a replay has what lies between. */
static int add_ends(struct writer *w, const struct workspace_block *blocks, size_t n)
{
    uint64_t from, end;
    workspace_span(w->source->workspace, &from, &end);
    if (from == end)
        return 0;
    if ((n == 0 || from < blocks[0].address) && add_buffer(w, from, WORKSPACE_ALIGN, NULL))
        return -1;
    return (n == 0 || end > blocks[n - 1].address + blocks[n - 1].bytes) &&
                   add_buffer(w, end - WORKSPACE_ALIGN, WORKSPACE_ALIGN, NULL)
               ? -1
               : 0;
}

int contents_write(const struct contents_source *source, struct recording *recording,
                   struct recording_call *call, kgrade_error *err)
{
    struct writer w = {.source = source, .recording = recording, .call = call, .err = err};
    size_t n = workspace_blocks(source->workspace, NULL, 0);
    cleanup_free struct workspace_block *blocks = malloc((n + 1) * sizeof *blocks);
    if (!blocks)
        return fail(err, "out_of_memory", NULL, "No memory for a list of blocks.");
    size_t got = workspace_blocks(source->workspace, blocks, n);
    n = merge_fresh(blocks, got < n ? got : n);
    if (n > RECORDING_MAX_BUFFERS)
        return fail(err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The candidate holds %zu blocks of memory; at most %d can be recorded.", n,
                    RECORDING_MAX_BUFFERS);
    size_t pieces = n < CONTENTS_MAX_PIECES ? CONTENTS_MAX_PIECES / (n + 1) : 1;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].is_marked ? add_contents(&w, &blocks[i], pieces)
                                : add_buffer(&w, blocks[i].address, blocks[i].bytes, NULL))
            return -1;
    return add_ends(&w, blocks, n);
}

bool contents_is_initial(const uint8_t *initial, const uint8_t *value, uint64_t bytes)
{
    if (initial)
        return !memcmp(value, initial, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        if (value[i])
            return false;
    return true;
}
