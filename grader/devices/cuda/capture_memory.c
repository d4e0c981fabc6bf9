#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../shared/contents.h"
#include "capture_node.h"

#define MAX_VARIABLE_BYTES (256ull << 20) /* of one variable of a module */

static int read_memory(void *to, uint64_t address, uint64_t bytes, kgrade_error *err)
{
    DRIVER_TRY(err, cuMemcpyDtoH(to, address, bytes));
    return 0;
}

int capture_memory(struct capture *c)
{
    const struct contents_source source = {.workspace = c->place->workspace, .read = read_memory};
    return contents_write(&source, c->recording, c->call, c->err);
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
    if (contents_is_initial(variable->initial, value, variable->bytes))
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
