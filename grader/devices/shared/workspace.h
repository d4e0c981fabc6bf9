/*
 * The allocator behind a candidate's cudaMalloc, hipMalloc and their relatives: a list of blocks over the arena's workspace.  It
 * never touches the memory itself.  Safe to use from several threads.
 *
 * A block that is freed is not handed out again before workspace_settle: work that uses it may still be queued, on
 * whatever stream.  Only when nothing else is left are such blocks used at once.
 */
#ifndef KGRADE_DEVICES_WORKSPACE_H
#define KGRADE_DEVICES_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKSPACE_ALIGN 512u /* what cudaMalloc and hipMalloc give at least, with room to spare */
#define WORKSPACE_MAX_BLOCKS 16384u

struct workspace;

/* NULL: no memory. */
struct workspace *workspace_new(uint64_t address, uint64_t bytes);
void workspace_delete(struct workspace *workspace);

/* An address of its own also for 0 bytes.  0: no room, or too many blocks. */
uint64_t workspace_allocate(struct workspace *workspace, uint64_t bytes);

/* false: not the beginning of a block in use. */
bool workspace_free(struct workspace *workspace, uint64_t address);

/* The block in use that an address lies in. */
bool workspace_find(struct workspace *workspace, uint64_t address, uint64_t *ret_address,
                    uint64_t *ret_bytes);

/* Nothing is queued any more: freed blocks may be handed out again. */
void workspace_settle(struct workspace *workspace);

/* A call begins: blocks in use now are those whose contents it may read. */
void workspace_mark(struct workspace *workspace);

struct workspace_block {
    uint64_t address, bytes; /* bytes as rounded up to WORKSPACE_ALIGN */
    bool is_marked;          /* was in use when the call began */
};

/* Blocks in use or freed since workspace_settle, in order of address.  Returns how many there are; writes at most max. */
size_t workspace_blocks(struct workspace *workspace, struct workspace_block *ret, size_t max);

/* The range that all blocks lie in that were handed out since workspace_mark; both 0: there were none.  More than
 * workspace_blocks tells: where nothing else was left, blocks were used again in parts, and are no blocks any more. */
void workspace_span(struct workspace *workspace, uint64_t *ret_from, uint64_t *ret_end);

/* Bytes that are free, and all of them. */
void workspace_room(struct workspace *workspace, uint64_t *ret_free, uint64_t *ret_total);

#endif
