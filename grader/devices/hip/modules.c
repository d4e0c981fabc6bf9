#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "capture.h"

#define TOO_MANY_HINT "Load code once, at the first call, and keep it."

static void no_memory(void)
{
    capture_refuse("out_of_memory", "", "No memory for the candidate's code.");
}

/* The picked code object is copied: what it is made of may be unloaded or changed before the call is written down. */
static int pick(struct module *m, const void *bundle, kgrade_error *err)
{
    const uint8_t *image;
    size_t extent = code_object_extent(bundle, CAPTURE_MAX_IMAGE_BYTES), size;
    if (extent == 0)
        return fail(err, "image_invalid", "Compile with hipcc for the device's target.",
                    "What was loaded is neither a code object nor a bundle of some.");
    if (code_object_pick(bundle, extent, hip.target, &image, &size, err))
        return -1;
    m->image = malloc(size);
    if (!m->image)
        return fail(err, "out_of_memory", NULL, "No memory for a code object.");
    memcpy(m->image, image, size);
    m->size = size;
    m->object = code_object_parse(m->image, m->size, err);
    return m->object ? 0 : -1;
}

struct module *module_add(const void *bundle)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m || capture.n_modules == CAPTURE_MAX_OBJECTS) {
        capture_refuse("too_many_objects", TOO_MANY_HINT, "The candidate loads too many modules.");
        free(m);
        return NULL;
    }
    m->image_in_call = SIZE_MAX;
    if (pick(m, bundle, &m->broken))
        runtime_trace("module not usable: %s", m->broken.message);
    capture.modules[capture.n_modules++] = m;
    return m;
}

struct module *module_find(const void *handle)
{
    for (size_t i = 0; i < capture.n_modules; i++)
        if (capture.modules[i] == handle)
            return capture.modules[i];
    return NULL;
}

static void function_free(struct function *f)
{
    free(f->name);
    free(f);
}

void module_remove(struct module *m)
{
    for (size_t i = 0; i < capture.n_functions;) {
        if (capture.functions[i]->module != m) {
            i++;
            continue;
        }
        function_free(capture.functions[i]);
        capture.functions[i] = capture.functions[--capture.n_functions];
    }
    for (size_t i = 0; i < capture.n_variables;) {
        if (capture.variables[i]->module != m) {
            i++;
            continue;
        }
        free(capture.variables[i]->name);
        free(capture.variables[i]);
        capture.variables[i] = capture.variables[--capture.n_variables];
    }
    for (size_t i = 0; i < capture.n_modules; i++)
        if (capture.modules[i] == m)
            capture.modules[i] = capture.modules[--capture.n_modules];
    if (m->handle)
        hip.hipModuleUnload(m->handle);
    code_object_free(m->object);
    free(m->image);
    free(m);
}

hip_error module_load(struct module *m)
{
    if (m->broken.code[0]) {
        capture_refuse(m->broken.code, m->broken.hint, "%s", m->broken.message);
        return HIP_ERROR_NO_BINARY_FOR_GPU;
    }
    return m->handle ? HIP_SUCCESS : hip.hipModuleLoadData(&m->handle, m->image);
}

static struct function *add_function(struct module *m, const void *host, const char *name)
{
    struct function *f = calloc(1, sizeof *f);
    if (!f || capture.n_functions == CAPTURE_MAX_OBJECTS || !(f->name = strdup(name))) {
        capture_refuse("too_many_objects", TOO_MANY_HINT, "The candidate has too many kernels.");
        free(f);
        return NULL;
    }
    f->module = m;
    f->host = host;
    f->kernel = m->object ? code_object_kernel(m->object, name) : NULL;
    capture.functions[capture.n_functions++] = f;
    return f;
}

void function_register(struct module *m, const void *host, const char *name)
{
    add_function(m, host, name);
}

void variable_register(struct module *m, const void *host, const char *name)
{
    struct variable *v = calloc(1, sizeof *v);
    if (!v || capture.n_variables == CAPTURE_MAX_OBJECTS || !(v->name = strdup(name))) {
        no_memory();
        free(v);
        return;
    }
    v->module = m;
    v->host = host;
    capture.variables[capture.n_variables++] = v;
}

struct function *function_find(const void *handle)
{
    for (size_t i = 0; handle && i < capture.n_functions; i++)
        if (capture.functions[i]->host == handle || capture.functions[i] == handle)
            return capture.functions[i];
    return NULL;
}

/* The same one for the same name: candidates ask again and again. */
struct function *function_get(struct module *m, const char *name)
{
    for (size_t i = 0; i < capture.n_functions; i++)
        if (capture.functions[i]->module == m && !capture.functions[i]->host &&
            !strcmp(capture.functions[i]->name, name))
            return capture.functions[i];
    return m->object && code_object_kernel(m->object, name) ? add_function(m, NULL, name) : NULL;
}

hip_error function_load(struct function *f)
{
    hip_error result = module_load(f->module);
    if (result != HIP_SUCCESS || f->handle)
        return result;
    if (!f->kernel) {
        capture_refuse("unknown_function", "Report this with the candidate's source.",
                       "The candidate's code has no kernel %.300s.", f->name);
        return HIP_ERROR_INVALID_DEVICE_FUNCTION;
    }
    return hip.hipModuleGetFunction(&f->handle, f->module->handle, f->name);
}

hip_error variable_find(const void *host, void **ret, size_t *ret_bytes)
{
    for (size_t i = 0; i < capture.n_variables; i++) {
        struct variable *v = capture.variables[i];
        if (v->host != host)
            continue;
        hip_error result = module_load(v->module);
        return result == HIP_SUCCESS
                   ? hip.hipModuleGetGlobal(ret, ret_bytes, v->module->handle, v->name)
                   : result;
    }
    return HIP_ERROR_INVALID_SYMBOL;
}
