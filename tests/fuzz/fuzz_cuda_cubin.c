/*
 * A cubin comes from a candidate: whatever its bytes, nothing outside them is read, searches end, and what is found is
 * found where the file says.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "grader/devices/cuda/cubin.h"

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

static void read_variables(const struct cubin *cubin)
{
    struct cubin_variable v;
    uint64_t cursor = 0, before = 0;
    static volatile uint64_t seen;
    while (cubin_next_variable(cubin, &cursor, &v)) {
        require(cursor > before && cursor < cubin->n_symbols && v.name[0] && v.bytes > 0);
        require(inside(cubin->data, cubin->size, v.name, strlen(v.name) + 1));
        require(!v.initial || inside(cubin->data, cubin->size, v.initial, v.bytes));
        if (v.initial)
            seen = seen + sum_of(v.initial, v.bytes);
        before = cursor;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cubin cubin;
    if (!cubin_parse(data, size, &cubin))
        return 0;
    require(cubin.data == data && cubin.size == size);
    require(inside(data, size, data + cubin.symbols, cubin.n_symbols * 24));
    require(cubin.strings_size > 0 && data[cubin.strings + cubin.strings_size - 1] == 0);
    require(!cubin_has_kernel(&cubin, "k") || memmem(data, size, "k", 2));
    require(!cubin_calls(&cubin, "k", "malloc") || memmem(data, size, "malloc", 6));
    require(!cubin_calls(&cubin, "quiet", "free") || memmem(data, size, "free", 4));
    cubin_launches(&cubin);
    read_variables(&cubin);
    return 0;
}
