/*
 * A MessagePack map: "amdhsa.target", "amdhsa.kernels" (an array of maps), and more that is passed over.  Each key may be
 * there once.
 */
#define _GNU_SOURCE
#include "metadata.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "msgpack.h"

static int broken(kgrade_error *err, const char *what)
{
    return fail(err, "image_invalid", NULL, "The code object's metadata is broken: %s.", what);
}

static int no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", NULL, "No memory to read a code object.");
}

/* Which of the keys a string is; n for none of them. */
static size_t which(const struct msgpack_item *item, const char *const *keys, size_t n)
{
    size_t i = 0;
    while (i < n && !msgpack_is(item, keys[i]))
        i++;
    return i;
}

static bool read_number(struct msgpack *m, uint32_t *ret)
{
    struct msgpack_item item;
    if (!msgpack_next(m, &item) || item.kind != MSGPACK_UNSIGNED || item.n > UINT32_MAX)
        return false;
    *ret = (uint32_t)item.n;
    return true;
}

static int read_name(struct msgpack *m, char **ret, kgrade_error *err)
{
    struct msgpack_item item;
    if (!msgpack_next(m, &item) || item.kind != MSGPACK_STRING || item.n == 0 ||
        item.n >= CODE_OBJECT_MAX_NAME || memchr(item.data, 0, item.n))
        return broken(err, "a kernel's name is no text of a sensible length");
    *ret = strndup((const char *)item.data, item.n);
    return *ret ? 0 : no_memory(err);
}

static enum code_object_arg_kind kind_of(const struct msgpack_item *item)
{
    static const char hidden[] = "hidden_";
    if (msgpack_is(item, "by_value"))
        return CODE_ARG_VALUE;
    if (msgpack_is(item, "global_buffer"))
        return CODE_ARG_BUFFER;
    if (msgpack_is(item, "dynamic_shared_pointer"))
        return CODE_ARG_LOCAL;
    if (item->n >= sizeof hidden - 1 && !memcmp(item->data, hidden, sizeof hidden - 1))
        return CODE_ARG_HIDDEN;
    return CODE_ARG_OTHER;
}

static int read_arg(struct msgpack *m, struct code_object_kernel *kernel, kgrade_error *err)
{
    enum { OFFSET, SIZE, KIND, N_KEYS };
    static const char *const keys[N_KEYS] = {".offset", ".size", ".value_kind"};
    struct code_object_arg arg = {0};
    struct msgpack_item map, key, value;
    unsigned seen = 0;
    if (!msgpack_next(m, &map) || map.kind != MSGPACK_MAP)
        return broken(err, "an argument is no map");
    for (uint64_t i = 0; i < map.n; i++) {
        if (!msgpack_next(m, &key) || key.kind != MSGPACK_STRING)
            return broken(err, "a key is no text");
        size_t k = which(&key, keys, N_KEYS);
        bool good = !(seen & 1u << k) || k == N_KEYS;
        seen |= 1u << k;
        if (k == OFFSET || k == SIZE) {
            good = good && read_number(m, k == OFFSET ? &arg.offset : &arg.size);
        } else if (k == KIND) {
            good = good && msgpack_next(m, &value) && value.kind == MSGPACK_STRING;
            if (good) {
                arg.kind = kind_of(&value);
                kernel->calls_host |= msgpack_is(&value, "hidden_hostcall_buffer");
                kernel->allocates |= msgpack_is(&value, "hidden_heap_v1");
                kernel->launches |= msgpack_is(&value, "hidden_default_queue");
            }
        } else {
            good = msgpack_skip(m, CODE_OBJECT_MAX_DEPTH);
        }
        if (!good)
            return broken(err, "an argument's offset, size or kind is not one");
    }
    if ((seen & 7u) != 7u)
        return broken(err, "an argument is without an offset, a size or a kind");
    kernel->args[kernel->n_args++] = arg;
    return 0;
}

static int read_args(struct msgpack *m, struct code_object_kernel *kernel, kgrade_error *err)
{
    struct msgpack_item array;
    if (!msgpack_next(m, &array) || array.kind != MSGPACK_ARRAY || array.n > CODE_OBJECT_MAX_ARGS)
        return broken(err, "a kernel's arguments are no list of a sensible length");
    kernel->args = calloc(array.n + 1, sizeof *kernel->args);
    if (!kernel->args)
        return no_memory(err);
    for (uint64_t i = 0; i < array.n; i++)
        if (read_arg(m, kernel, err))
            return -1;
    return 0;
}

/* Arguments lie one after the other inside the block. */
static int check_kernel(struct code_object_kernel *kernel, kgrade_error *err)
{
    uint64_t end = 0;
    if (!kernel->name || !kernel->symbol)
        return broken(err, "a kernel has no name or no symbol");
    if (kernel->kernarg_bytes > CODE_OBJECT_MAX_KERNARG)
        return broken(err, "a kernel's arguments take more memory than any kernel's may");
    for (size_t i = 0; i < kernel->n_args; i++) {
        const struct code_object_arg *arg = &kernel->args[i];
        if (arg->offset < end || arg->size == 0 ||
            (uint64_t)arg->offset + arg->size > kernel->kernarg_bytes)
            return broken(err, "a kernel's arguments overlap or lie outside their block");
        if (arg->kind == CODE_ARG_BUFFER && arg->size != 8)
            return broken(err, "a pointer does not have 8 bytes");
        end = (uint64_t)arg->offset + arg->size;
        if (arg->kind != CODE_ARG_HIDDEN)
            kernel->explicit_bytes = (uint32_t)end;
    }
    return 0;
}

static int read_kernel(struct msgpack *m, struct code_object_kernel *kernel, kgrade_error *err)
{
    enum { NAME, SYMBOL, ARGS, KERNARG, FIRST_NUMBER = KERNARG };
    static const char *const keys[] = {".name",
                                       ".symbol",
                                       ".args",
                                       ".kernarg_segment_size",
                                       ".kernarg_segment_align",
                                       ".vgpr_count",
                                       ".agpr_count",
                                       ".sgpr_count",
                                       ".vgpr_spill_count",
                                       ".sgpr_spill_count",
                                       ".group_segment_fixed_size",
                                       ".private_segment_fixed_size",
                                       ".wavefront_size",
                                       ".max_flat_workgroup_size"};
    uint32_t *const numbers[] = {&kernel->kernarg_bytes,    &kernel->kernarg_align,
                                 &kernel->vector_registers, &kernel->accumulator_registers,
                                 &kernel->scalar_registers, &kernel->vector_spills,
                                 &kernel->scalar_spills,    &kernel->shared_bytes,
                                 &kernel->private_bytes,    &kernel->wavefront,
                                 &kernel->max_threads};
    const size_t n_keys = sizeof keys / sizeof keys[0];
    struct msgpack_item map, key;
    unsigned seen = 0;
    if (!msgpack_next(m, &map) || map.kind != MSGPACK_MAP)
        return broken(err, "a kernel is no map");
    for (uint64_t i = 0; i < map.n; i++) {
        if (!msgpack_next(m, &key) || key.kind != MSGPACK_STRING)
            return broken(err, "a key is no text");
        size_t k = which(&key, keys, n_keys);
        if (k < n_keys && (seen & 1u << k))
            return broken(err, "a kernel tells the same thing twice");
        seen |= 1u << k;
        if (k == NAME || k == SYMBOL) {
            if (read_name(m, k == NAME ? &kernel->name : &kernel->symbol, err))
                return -1;
        } else if (k == ARGS) {
            if (read_args(m, kernel, err))
                return -1;
        } else if (k < n_keys ? !read_number(m, numbers[k - FIRST_NUMBER])
                              : !msgpack_skip(m, CODE_OBJECT_MAX_DEPTH)) {
            return broken(err, "what a kernel takes is no number");
        }
    }
    if (!(seen & 1u << KERNARG))
        return broken(err, "a kernel does not tell how many bytes of arguments it takes");
    return check_kernel(kernel, err);
}

static int by_name(const void *a, const void *b)
{
    const struct code_object_kernel *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int read_kernels(struct msgpack *m, struct code_object *ret, kgrade_error *err)
{
    struct msgpack_item array;
    if (!msgpack_next(m, &array) || array.kind != MSGPACK_ARRAY ||
        array.n > CODE_OBJECT_MAX_KERNELS)
        return broken(err, "the kernels are no list of a sensible length");
    ret->kernels = calloc(array.n + 1, sizeof *ret->kernels);
    if (!ret->kernels)
        return no_memory(err);
    for (uint64_t i = 0; i < array.n; i++)
        if (read_kernel(m, &ret->kernels[ret->n_kernels++], err))
            return -1;
    qsort(ret->kernels, ret->n_kernels, sizeof *ret->kernels, by_name);
    for (size_t i = 1; i < ret->n_kernels; i++)
        if (!by_name(&ret->kernels[i - 1], &ret->kernels[i]))
            return broken(err, "two kernels have the same name");
    return 0;
}

/* "amdgcn-amd-amdhsa--gfx90a:sramecc+" */
static int read_target(struct msgpack *m, struct code_object *ret, kgrade_error *err)
{
    struct msgpack_item item;
    const char *target = NULL;
    if (msgpack_next(m, &item) && item.kind == MSGPACK_STRING)
        target = memmem(item.data, item.n, "-gfx", 4);
    size_t n = target ? (size_t)((const char *)item.data + item.n - (target + 1)) : 0;
    if (!target || n >= sizeof ret->target || memchr(target + 1, 0, n))
        return broken(err, "its target is not one");
    memcpy(ret->target, target + 1, n);
    ret->target[n] = '\0';
    return 0;
}

int metadata_read(const uint8_t *data, size_t size, struct code_object *ret, kgrade_error *err)
{
    struct msgpack m = {data, data + size};
    struct msgpack_item map, key;
    if (!msgpack_next(&m, &map) || map.kind != MSGPACK_MAP)
        return broken(err, "it is no map");
    for (uint64_t i = 0; i < map.n; i++) {
        if (!msgpack_next(&m, &key) || key.kind != MSGPACK_STRING)
            return broken(err, "a key is no text");
        bool target = msgpack_is(&key, "amdhsa.target"),
             kernels = msgpack_is(&key, "amdhsa.kernels");
        if ((target && ret->target[0]) || (kernels && ret->kernels))
            return broken(err, "it tells the same thing twice");
        if (target && read_target(&m, ret, err))
            return -1;
        if (kernels && read_kernels(&m, ret, err))
            return -1;
        if (!target && !kernels && !msgpack_skip(&m, CODE_OBJECT_MAX_DEPTH))
            return broken(err, "it ends in the middle, or is nested deeper than any");
    }
    if (m.at != m.end)
        return broken(err, "something follows it");
    if (!ret->target[0])
        return fail(err, "image_invalid",
                    "Compile with a clang that writes code object V4 or later.",
                    "The code object does not tell for which target it is.");
    return 0;
}
