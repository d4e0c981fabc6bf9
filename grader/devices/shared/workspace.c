#include "workspace.h"

#include <pthread.h>
#include <stdlib.h>

enum block_state { BLOCK_FREE, BLOCK_USED, BLOCK_LEAVING };

struct block {
    struct block *before, *after; /* neighbours in memory; no two neighbours are both free */
    uint64_t address, bytes;
    enum block_state state;
    bool is_marked;
};

struct workspace {
    pthread_mutex_t lock;
    struct block *first;
    size_t n_blocks;
    uint64_t total;
    uint64_t from, end; /* see workspace_span */
};

struct workspace *workspace_new(uint64_t address, uint64_t bytes)
{
    uint64_t from = (address + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN,
             lost = from - address;
    struct workspace *w = calloc(1, sizeof *w);
    struct block *block = calloc(1, sizeof *block);
    if (!w || !block || pthread_mutex_init(&w->lock, NULL)) {
        free(w);
        free(block);
        return NULL;
    }
    block->address = from;
    block->bytes = bytes > lost ? (bytes - lost) / WORKSPACE_ALIGN * WORKSPACE_ALIGN : 0;
    w->first = block;
    w->n_blocks = 1;
    w->total = block->bytes;
    return w;
}

void workspace_delete(struct workspace *workspace)
{
    if (!workspace)
        return;
    for (struct block *b = workspace->first, *next; b; b = next) {
        next = b->after;
        free(b);
    }
    pthread_mutex_destroy(&workspace->lock);
    free(workspace);
}

/* Joins a free block with the free block behind it. */
static void join(struct workspace *w, struct block *b)
{
    struct block *gone = b->after;
    if (b->state != BLOCK_FREE || !gone || gone->state != BLOCK_FREE)
        return;
    b->bytes += gone->bytes;
    b->after = gone->after;
    if (b->after)
        b->after->before = b;
    free(gone);
    w->n_blocks--;
}

/* Without `all`, marked blocks stay: the call being recorded may read what they held when it began. */
static void release_leaving(struct workspace *w, bool all)
{
    for (struct block *b = w->first; b; b = b->after) {
        if (b->state == BLOCK_LEAVING && (all || !b->is_marked))
            b->state = BLOCK_FREE;
        if (b->before && b->before->state == BLOCK_FREE && b->state == BLOCK_FREE) {
            b = b->before;
            join(w, b);
        }
    }
}

/* The smallest free block that is large enough: keeps large ones whole. */
static struct block *best_fit(const struct workspace *w, uint64_t bytes)
{
    struct block *best = NULL;
    for (struct block *b = w->first; b; b = b->after)
        if (b->state == BLOCK_FREE && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

static bool split(struct workspace *w, struct block *b, uint64_t bytes)
{
    if (b->bytes == bytes)
        return true;
    struct block *rest = w->n_blocks < WORKSPACE_MAX_BLOCKS ? calloc(1, sizeof *rest) : NULL;
    if (!rest)
        return false;
    *rest = (struct block){
        .before = b, .after = b->after, .address = b->address + bytes, .bytes = b->bytes - bytes};
    if (rest->after)
        rest->after->before = rest;
    b->after = rest;
    b->bytes = bytes;
    w->n_blocks++;
    return true;
}

uint64_t workspace_allocate(struct workspace *workspace, uint64_t bytes)
{
    if (bytes > UINT64_MAX - WORKSPACE_ALIGN)
        return 0;
    uint64_t whole = (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN, address = 0;
    if (whole == 0)
        whole = WORKSPACE_ALIGN;
    pthread_mutex_lock(&workspace->lock);
    struct block *b = best_fit(workspace, whole);
    if (!b) {
        release_leaving(workspace, false);
        b = best_fit(workspace, whole);
    }
    if (b && split(workspace, b, whole)) {
        b->state = BLOCK_USED;
        b->is_marked = false;
        address = b->address;
        workspace->from = workspace->end && workspace->from < address ? workspace->from : address;
        workspace->end = workspace->end > address + whole ? workspace->end : address + whole;
    }
    pthread_mutex_unlock(&workspace->lock);
    return address;
}

bool workspace_free(struct workspace *workspace, uint64_t address)
{
    bool found = false;
    pthread_mutex_lock(&workspace->lock);
    for (struct block *b = workspace->first; b && !found; b = b->after) {
        if (b->address == address && b->state == BLOCK_USED) {
            b->state = BLOCK_LEAVING;
            found = true;
        }
    }
    pthread_mutex_unlock(&workspace->lock);
    return found;
}

bool workspace_find(struct workspace *workspace, uint64_t address, uint64_t *ret_address,
                    uint64_t *ret_bytes)
{
    bool found = false;
    pthread_mutex_lock(&workspace->lock);
    for (const struct block *b = workspace->first; b && !found; b = b->after) {
        if (b->state == BLOCK_USED && address >= b->address && address - b->address < b->bytes) {
            *ret_address = b->address;
            *ret_bytes = b->bytes;
            found = true;
        }
    }
    pthread_mutex_unlock(&workspace->lock);
    return found;
}

void workspace_settle(struct workspace *workspace)
{
    pthread_mutex_lock(&workspace->lock);
    release_leaving(workspace, true);
    pthread_mutex_unlock(&workspace->lock);
}

void workspace_mark(struct workspace *workspace)
{
    pthread_mutex_lock(&workspace->lock);
    for (struct block *b = workspace->first; b; b = b->after)
        b->is_marked = b->state == BLOCK_USED;
    workspace->from = workspace->end = 0;
    pthread_mutex_unlock(&workspace->lock);
}

void workspace_span(struct workspace *workspace, uint64_t *ret_from, uint64_t *ret_end)
{
    pthread_mutex_lock(&workspace->lock);
    *ret_from = workspace->from;
    *ret_end = workspace->end;
    pthread_mutex_unlock(&workspace->lock);
}

size_t workspace_blocks(struct workspace *workspace, struct workspace_block *ret, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&workspace->lock);
    for (const struct block *b = workspace->first; b; b = b->after) {
        if (b->state == BLOCK_FREE)
            continue;
        if (n < max)
            ret[n] = (struct workspace_block){b->address, b->bytes, b->is_marked};
        n++;
    }
    pthread_mutex_unlock(&workspace->lock);
    return n;
}

void workspace_room(struct workspace *workspace, uint64_t *ret_free, uint64_t *ret_total)
{
    uint64_t room = 0;
    pthread_mutex_lock(&workspace->lock);
    for (const struct block *b = workspace->first; b; b = b->after)
        if (b->state != BLOCK_USED)
            room += b->bytes;
    *ret_total = workspace->total;
    pthread_mutex_unlock(&workspace->lock);
    *ret_free = room;
}
