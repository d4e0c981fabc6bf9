#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "gather.h"

#define POOL_CHUNK (64u << 10)

struct board_pool {
    struct board_pool *before;
    size_t used, size;
    char text[];
};

const char *board_keep(struct board *b, const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    if (!b->pool || b->pool->size - b->pool->used < size) {
        size_t room = size > POOL_CHUNK ? size : POOL_CHUNK;
        struct board_pool *pool = malloc(sizeof *pool + room);
        if (!pool)
            return NULL;
        *pool = (struct board_pool){b->pool, 0, room};
        b->pool = pool;
    }
    char *copy = b->pool->text + b->pool->used;
    memcpy(copy, text, size);
    b->pool->used += size;
    return copy;
}

const char *board_keep_or(struct board *b, const char *text, const char *otherwise)
{
    return board_keep(b, text && *text ? text : otherwise);
}

void board_free(struct board *b)
{
    for (size_t i = 0; i < b->n_sources; i++) {
        json_decref(b->sources[i].notes);
        json_decref(b->sources[i].tallies);
    }
    for (size_t i = 0; i < b->n_entries; i++)
        free(b->entries[i].cases);
    free(b->sources);
    free(b->tables);
    free(b->entries);
    free(b->skips);
    while (b->pool) {
        struct board_pool *before = b->pool->before;
        free(b->pool);
        b->pool = before;
    }
    *b = (struct board){0};
}

int board_no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", NULL, "No memory for the report.");
}
