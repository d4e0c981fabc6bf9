/*
 * Shows what `kgrade recording show` tells about the kernels in code objects, or bundles of them:
 *
 *   hip_inspect TARGET FILE...
 *
 * Each file becomes a recording with its kernels as nodes.  Status 1: a file has no kernel for the target, or one of its kernels is not
 * described, or takes no registers or no arguments.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/devices/hip/code_object.h"
#include "grader/kgrade.h"
#include "grader/recording.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

#define MAX_BYTES (64u << 20)

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return 1;
}

/* A recording of one call that launches each kernel of the code object. */
static char *show(const uint8_t *data, size_t size, const struct code_object *object,
                  kgrade_error *err)
{
    static struct task task = {.name = (char *)"shown", .n_params = 1};
    cleanup_recording struct recording *r = recording_new("hip", &task);
    cleanup_bytes struct bytes file = {0};
    char *text = NULL;
    size_t image = recording_add_image(r, "amdgpu", "", data, size);
    struct recording_call *call = recording_add_call(r, NULL);
    for (size_t i = 0; i < object->n_kernels; i++) {
        struct recording_node *node = recording_add_node(call, NODE_KERNEL);
        node->image = image;
        node->name = strdup(object->kernels[i].name);
        node->work_dim = 3;
        for (int k = 0; k < 3; k++)
            node->grid[k] = node->block[k] = 1;
    }
    if (recording_write(r, &file, err) ||
        kgrade_recording_show(file.data, file.size, false, &text, err))
        return NULL;
    return text;
}

static int check_node(const char *path, const json_t *node)
{
    const json_t *resources = json_object_get(node, "resources");
    static const char *const keys[] = {"registers",   "scalar_registers", "shared_bytes",
                                       "stack_bytes", "spills",           "argument_bytes"};
    const char *name = json_string_value(json_object_get(node, "name"));
    char base[256];
    snprintf(base, sizeof base, "%s", path);
    if (!name || !resources)
        return complain(path, "a kernel is not described");
    printf("%-24s %-28.28s", basename(base), name);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        printf(" %6lld", (long long)json_integer_value(json_object_get(resources, keys[i])));
    printf("\n");
    if (json_integer_value(json_object_get(resources, "registers")) == 0 ||
        json_integer_value(json_object_get(resources, "argument_bytes")) == 0)
        return complain(path, "a kernel takes no registers or no arguments");
    return 0;
}

static int inspect(const char *target, const char *path)
{
    cleanup_bytes struct bytes file = {0};
    const uint8_t *image = NULL;
    size_t size = 0;
    kgrade_error err = {.code = ""};
    if (io_read_file(path, MAX_BYTES, &file, &err) ||
        code_object_pick(file.data, file.size, target, &image, &size, &err))
        return complain(path, err.message);
    cleanup_code_object struct code_object *object = code_object_parse(image, size, &err);
    if (!object)
        return complain(path, err.message);
    if (strcmp(object->target, target) != 0 || object->n_kernels == 0)
        return complain(path, "there is no kernel for the target");
    cleanup_free char *text = show(image, size, object, &err);
    json_auto_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *nodes =
        json_object_get(json_array_get(json_object_get(json, "calls"), 0), "nodes");
    if (json_array_size(nodes) != object->n_kernels)
        return complain(path, text ? "kernels are missing in what is shown" : err.message);
    int bad = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++)
        bad |= check_node(path, json_array_get(nodes, i));
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;
    if (argc < 3)
        return 2;
    printf("%-24s %-28s %6s %6s %6s %6s %6s %6s\n", argv[1], "kernel", "vgpr", "sgpr", "lds",
           "stack", "spills", "args");
    for (int i = 2; i < argc; i++)
        bad |= inspect(argv[1], argv[i]);
    return bad;
}
