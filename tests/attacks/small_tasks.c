#define _GNU_SOURCE
#include "small_tasks.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"

#define MAX_PATH 4096
#define MAX_REFERENCE_BYTES (1u << 20)
#define FOREIGN "blend_rows" /* a task whose reference is in Python; small already */

static const struct {
    const char *name, *original, *cases;
} tasks[] = {
    {"short_add", "vector_add",
     "{\"correctness\": [{\"n\": 1000}], \"benchmark\": [{\"n\": 65536}]}"},
    {"timed_add", "vector_add",
     "{\"correctness\": [{\"n\": 131072}], \"benchmark\": [{\"n\": 262144}]}"},
    /* Two cases are two drawings of samples that are judged. */
    {"twice_timed_add", "vector_add",
     "{\"correctness\": [{\"n\": 131072}], \"benchmark\": [{\"n\": 262144}, {\"n\": 196608}]}"},
    {"sized_add", "vector_add",
     "{\"correctness\": [{\"n\": 1000}], \"benchmark\": [{\"n\": 65536}, {\"n\": 262144}],"
     " \"hidden\": [{\"count\": 1, \"n\": [2000, 60000]}]}"},
    {"short_softmax", "softmax",
     "{\"correctness\": [{\"rows\": 7, \"cols\": 33}], \"benchmark\": [{\"rows\": 64, \"cols\": "
     "256}], \"hidden\": [{\"count\": 1, \"rows\": [1, 20], \"cols\": [2, 64], \"other_values\": "
     "{\"x\": {\"distribution\": \"normal\", \"scale\": 20, \"offset\": -40}}}]}"},
    {"short_matmul", "matmul",
     "{\"correctness\": [{\"m\": 33, \"n\": 17, \"k\": 61}],"
     " \"benchmark\": [{\"m\": 128, \"n\": 128, \"k\": 128}]}"},
    {"vector_add", "vector_add",
     "{\"correctness\": [{\"n\": 1}, {\"n\": 31}, {\"n\": 1000}, {\"n\": 65537}],"
     " \"benchmark\": [{\"n\": 65536}, {\"n\": 262144}],"
     " \"hidden\": [{\"count\": 2, \"n\": [1, 100000]}]}"},
    {"softmax", "softmax",
     "{\"correctness\": [{\"rows\": 1, \"cols\": 1}, {\"rows\": 257, \"cols\": 1}, "
     "{\"rows\": 7, \"cols\": 33}],"
     " \"benchmark\": [{\"rows\": 64, \"cols\": 256}],"
     " \"hidden\": [{\"count\": 2, \"rows\": [1, 50], \"cols\": [1, 300]}]}"},
    {"matmul", "matmul",
     "{\"correctness\": [{\"m\": 1, \"n\": 1, \"k\": 1}, {\"m\": 3, \"n\": 5, \"k\": 7},"
     " {\"m\": 127, \"n\": 129, \"k\": 131}],"
     " \"benchmark\": [{\"m\": 128, \"n\": 128, \"k\": 128}],"
     " \"hidden\": [{\"count\": 2, \"m\": [1, 100], \"n\": [1, 100], \"k\": [1, 100]}]}"},
};

static const char *const parts[] = {"statement.md", "baseline.opencl.c", "baseline.cuda.cu"};

static void die(const char *path)
{
    perror(path);
    exit(1);
}

static void make_reference(const char *from, const char *to, const struct bait *bait)
{
    char path[MAX_PATH];
    kgrade_error error;
    cleanup_bytes struct bytes text = {0};
    snprintf(path, sizeof path, "%.2000s/reference.c", from);
    if (io_read_file(path, MAX_REFERENCE_BYTES, &text, &error))
        die(path);
    snprintf(path, sizeof path, "%.2000s/reference.c", to);
    cleanup_file FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%s\n__attribute__((used)) const char reference_bait[] = \"%s\";\n",
                         (const char *)text.data, bait->reference) < 0)
        die(path);
}

static void make_one(const char *from, const char *to, const char *name, const char *cases)
{
    char path[MAX_PATH], target[MAX_PATH];
    json_error_t error;
    snprintf(path, sizeof path, "%.2000s/task.json", from);
    json_auto_t *task = json_load_file(path, 0, &error);
    if (!task || json_object_set_new(task, "cases", json_loads(cases, 0, &error)) ||
        json_object_set_new(task, "name", json_string(name))) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        exit(1);
    }
    snprintf(path, sizeof path, "%.2000s/task.json", to);
    if (mkdir(to, 0755) || json_dump_file(task, path, JSON_INDENT(2)))
        die(path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(target, sizeof target, "%.2000s/%s", from, parts[i]);
        snprintf(path, sizeof path, "%.2000s/%s", to, parts[i]);
        if (symlink(target, path))
            die(path);
    }
}

void small_tasks_make(const struct bait *bait)
{
    char from[MAX_PATH], to[MAX_PATH];
    snprintf(to, sizeof to, "%s/tasks", bait->folder);
    if (mkdir(to, 0755))
        die(to);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        snprintf(from, sizeof from, "%s/%s", KGRADE_SOURCE_DIR "/tasks", tasks[i].original);
        snprintf(to, sizeof to, "%s/tasks/%s", bait->folder, tasks[i].name);
        make_one(from, to, tasks[i].name, tasks[i].cases);
        make_reference(from, to, bait);
    }
    snprintf(to, sizeof to, "%s/tasks/" FOREIGN, bait->folder);
    if (symlink(KGRADE_SOURCE_DIR "/tests/foreign/" FOREIGN, to))
        die(to);
}

void small_tasks_remove(const struct bait *bait)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s/tasks", bait->folder);
    io_remove_tree(path, NULL);
}
