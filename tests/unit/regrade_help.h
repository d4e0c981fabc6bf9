/* What the tests of a regrade's store share: a folder, entries, results. */
#ifndef KGRADE_TESTS_REGRADE_HELP_H
#define KGRADE_TESTS_REGRADE_HELP_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/regrade/store.h"
#include "sandbox/base/io.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kgrade-regrade-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

/* Writes folder/NAME, making folders. */
static inline void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_int_equal(io_make_dirs(path, NULL), 0);
    *slash = '/';
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
}

static void must(int rc, const kgrade_error *err)
{
    if (rc)
        fail_msg("[%s] %s", err->code, err->message);
}

static inline struct regrade_store *open_store(void)
{
    struct regrade_store *store = NULL;
    kgrade_error err = {0};
    must(regrade_store_open(folder, &store, &err), &err);
    return store;
}

/* An entry that can be graded, with `text` as its source. */
static inline struct regrade_entry entry(const char *id, const char *text)
{
    return (struct regrade_entry){
        .id = id,
        .board = "board",
        .problem = "problem",
        .author = "author",
        .language = "c",
        .task = "vector_add",
        .device = "opencl",
        .source = text,
        .source_size = strlen(text),
        .original = {.value = 1.5,
                     .unit = "ms",
                     .lower_is_better = true,
                     .rank = 3,
                     .passed = REGRADE_PASSED},
    };
}

/* Takes in a source of these entries and chooses all. */
static inline void take_in(struct regrade_store *store, const struct regrade_entry *entries,
                           size_t n)
{
    kgrade_error err = {0};
    const struct regrade_source source = {.title = "title", .rule = "last"};
    must(regrade_store_begin_source(store, "folder", "/board", &source, &err), &err);
    for (size_t i = 0; i < n; i++)
        must(regrade_store_add(store, &entries[i], &err), &err);
    must(regrade_store_end_source(store, true, &err), &err);
    must(regrade_store_choose(store, NULL, 0, &err), &err);
}

/* A result with this verdict; the buffer is the function's. */
static inline const char *result(const char *verdict, double score)
{
    static char text[256];
    snprintf(text, sizeof text,
             "{\"verdict\": \"%s\", \"score\": %.3f, \"reason\": %s, \"steps\": "
             "{\"device_held_ms\": 2}}",
             verdict, score, strcmp(verdict, "accepted") ? "{\"code\": \"why\"}" : "null");
    return text;
}

#endif
