/*
 * Device code for AMD cards comes from a candidate: whatever its bytes, nothing outside them is read, limits hold, and
 * what is found is found where the file says.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "grader/devices/hip/code_object.h"

static bool inside(const uint8_t *data, size_t size, const void *at, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)data, p = (uintptr_t)at;
    return p >= from && p - from <= size && bytes <= size - (p - from);
}

static uint64_t sum_of(const uint8_t *bytes, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

static void check_kernel(const struct code_object *c, const struct code_object_kernel *k)
{
    uint32_t end = 0;
    require(k->name[0] && k->symbol[0] && strlen(k->name) < CODE_OBJECT_MAX_NAME);
    require(code_object_kernel(c, k->name) == k);
    require(k->n_args <= CODE_OBJECT_MAX_ARGS && k->kernarg_bytes <= CODE_OBJECT_MAX_KERNARG);
    for (size_t i = 0; i < k->n_args; i++) {
        const struct code_object_arg *a = &k->args[i];
        require(a->offset >= end && a->size > 0 && a->size <= k->kernarg_bytes - a->offset);
        require(a->kind != CODE_ARG_BUFFER || a->size == 8);
        end = a->offset + a->size;
    }
    require(k->explicit_bytes <= end);
}

static void read_all(const struct code_object *c)
{
    struct code_object_variable v;
    uint64_t cursor = 0, before = 0;
    static volatile uint64_t seen;
    seen = code_object_hides_state(c);
    require(c->target[0] && memchr(c->target, 0, sizeof c->target));
    for (size_t i = 0; i < c->n_kernels; i++)
        check_kernel(c, &c->kernels[i]);
    while (code_object_next_variable(c, &cursor, &v)) {
        require(cursor > before && cursor < c->n_symbols && v.name[0] && v.bytes > 0);
        require(inside(c->data, c->size, v.name, strlen(v.name) + 1));
        require(!v.initial || inside(c->data, c->size, v.initial, v.bytes));
        if (v.initial)
            seen = seen + sum_of(v.initial, v.bytes);
        before = cursor;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *image = NULL;
    size_t bytes = 0;
    kgrade_error err = {.code = ""};
    require(code_object_extent(data, size) <= size);
    if (code_object_pick(data, size, "gfx90a:sramecc+:xnack-", &image, &bytes, &err)) {
        require(!strcmp(err.code, "image_invalid") || !strcmp(err.code, "image_wrong_target"));
        return 0;
    }
    require(inside(data, size, image, bytes));
    struct code_object *c = code_object_parse(image, bytes, &err);
    if (c)
        read_all(c);
    else
        require(!strcmp(err.code, "image_invalid"));
    code_object_free(c);
    return 0;
}
