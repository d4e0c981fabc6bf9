/* Where an arena lies, with a driver that only remembers what it was asked. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/devices/cuda/arena.h"

#define ELSEWHERE 0x700000000000ull
#define CASE_BYTES (3ull << 20)
#define PIECE ARENA_GRANULARITY
#define MAX_MEMORIES 16u

struct mapping {
    CUdeviceptr at;
    uint64_t bytes;
    CUmemGenericAllocationHandle memory;
    unsigned int access;
};

static struct fake {
    bool elsewhere, no_access; /* does not honour an address; refuses access */
    CUdeviceptr wanted, reserved_at, unmapped_at, freed_at;
    uint64_t reserved, freed, cleared;
    uint64_t sizes[MAX_MEMORIES]; /* of memories, by handle */
    unsigned made, released;
    struct mapping mappings[4]; /* bytes 0: none */
} fake;

static struct mapping *mapping_at(CUdeviceptr at)
{
    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++)
        if (fake.mappings[i].bytes && fake.mappings[i].at == at)
            return &fake.mappings[i];
    return NULL;
}

static void assert_mapped(CUdeviceptr at, uint64_t bytes, unsigned int access)
{
    const struct mapping *m = mapping_at(at);
    assert_non_null(m);
    assert_int_equal(m->bytes, bytes);
    assert_int_equal(m->access, access);
}

static unsigned mappings(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++)
        n += fake.mappings[i].bytes != 0;
    return n;
}

CUresult cuMemAddressReserve(CUdeviceptr *ret, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    (void)alignment, (void)flags;
    fake.wanted = addr;
    fake.reserved = size;
    *ret = fake.reserved_at = !addr || fake.elsewhere ? ELSEWHERE : addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    fake.freed_at = ptr;
    fake.freed = size;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    (void)flags;
    assert_int_equal(offset, 0);
    assert_int_equal(size % PIECE, 0);
    assert_int_equal(size, fake.sizes[handle]); /* the driver maps no parts */
    assert_null(mapping_at(ptr));
    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++)
        if (!fake.mappings[i].bytes) {
            fake.mappings[i] = (struct mapping){.at = ptr, .bytes = size, .memory = handle};
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    struct mapping *m = mapping_at(ptr);
    assert_non_null(m);
    assert_int_equal(size, m->bytes);
    fake.unmapped_at = ptr;
    m->bytes = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    struct mapping *m = mapping_at(ptr);
    assert_int_equal(count, 1);
    assert_non_null(m);
    assert_int_equal(size, m->bytes);
    m->access = desc->flags;
    return fake.no_access ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    (void)prop, (void)option;
    *ret = 2u << 20;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)prop, (void)flags;
    assert_true(++fake.made < MAX_MEMORIES);
    fake.sizes[fake.made] = size;
    *ret = fake.made;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    assert_true(handle && handle <= fake.made);
    fake.released++;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)handle, (void)type, (void)flags;
    *(int *)ret = memfd_create("memory", MFD_CLOEXEC);
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *fd,
                                        CUmemAllocationHandleType type)
{
    (void)fd, (void)type;
    assert_true(++fake.made < MAX_MEMORIES);
    fake.sizes[fake.made] = fake.sizes[1]; /* the first arena's */
    *ret = fake.made;
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t n, CUstream stream)
{
    (void)stream;
    assert_int_equal(value, 0);
    assert_non_null(mapping_at(at));
    assert_int_equal(mapping_at(at)->bytes, n);
    fake.cleared += n;
    return CUDA_SUCCESS;
}

int driver_fail(kgrade_error *err, const char *code, CUresult result, const char *what)
{
    (void)result, (void)what;
    snprintf(err->code, sizeof err->code, "%s", code);
    return -1;
}

void driver_trace(const char *format, ...)
{
    (void)format;
}

static const struct driver_context context;

static void make(struct arena *ret, uint64_t workspace_bytes)
{
    kgrade_error err = {.code = ""};
    fake = (struct fake){.wanted = 0};
    assert_int_equal(arena_create(ret, &context, workspace_bytes, CASE_BYTES, &err), 0);
}

static void buffers_lie_in_one_place_whatever_the_workspace(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 4ull << 20, 4ull << 30, 5ull << 30, ARENA_MAX_WORKSPACE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct arena arena;
        make(&arena, sizes[i]);
        assert_int_equal(arena_buffers(&arena), ARENA_BUFFERS);
        assert_int_equal(arena_case_bytes(&arena), 4ull << 20);
        assert_true(arena.workspace_bytes >= sizes[i]);
        assert_int_equal(arena.address, ARENA_BUFFERS - arena.workspace_bytes);
        assert_mapped(ARENA_BUFFERS, 4ull << 20, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        assert_int_equal(mappings(), 1);
        /* In whole pieces, around all of it. */
        assert_int_equal(fake.reserved_at % ARENA_RESERVATION, 0);
        assert_int_equal(fake.reserved % ARENA_RESERVATION, 0);
        assert_true(fake.reserved_at <= arena.address);
        assert_true(arena.address + arena.bytes <= fake.reserved_at + fake.reserved);
        arena_close(&arena);
        assert_int_equal(mappings(), 0);
        assert_int_equal(fake.freed_at, fake.reserved_at);
        assert_int_equal(fake.freed, fake.reserved);
        assert_int_equal(fake.released, 1);
    }
}

static void another_process_maps_it_at_the_same_place_and_the_judge_anywhere(void **state)
{
    (void)state;
    struct arena arena, same, read;
    kgrade_error err = {.code = ""};
    int fd;
    make(&arena, 6ull << 20);
    assert_int_equal(arena_export(&arena, &fd, &err), 0);
    memset(fake.mappings, 0, sizeof fake.mappings); /* of the other process */
    assert_int_equal(arena_import(&same, &context, fd, ARENA_READ_WRITE, &err), 0);
    assert_int_equal(same.address, arena.address);
    assert_int_equal(arena_buffers(&same), ARENA_BUFFERS);
    assert_mapped(ARENA_BUFFERS, 4ull << 20, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    arena_close(&same);
    assert_int_equal(arena_import(&read, &context, fd, ARENA_READ_ONLY, &err), 0);
    assert_int_equal(fake.wanted, 0);
    assert_int_equal(arena_buffers(&read), ELSEWHERE);
    assert_int_equal(arena_case_bytes(&read), 4ull << 20);
    assert_mapped(ELSEWHERE, 4ull << 20, CU_MEM_ACCESS_FLAGS_PROT_READ);
    arena_close(&read);
    assert_int_equal(arena_import(&read, &context, fd, ARENA_FILL, &err), 0);
    assert_mapped(ELSEWHERE, 4ull << 20, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    arena_close(&read);
    assert_int_equal(mappings(), 0);
    arena.is_mapped = false;
    arena_close(&arena);
    close(fd);
}

static int fit(struct arena *arena, CUdeviceptr from, uint64_t bytes)
{
    kgrade_error err = {.code = ""};
    int result = arena_fit(arena, &context, from, bytes, &err);
    if (result)
        assert_string_equal(err.code, "arena_failed");
    return result;
}

static void only_what_a_call_needs_is_mapped(void **state)
{
    (void)state;
    struct arena arena;
    kgrade_error err = {.code = ""};
    make(&arena, 16ull << 20);
    CUdeviceptr inside = ARENA_BUFFERS - 3 * PIECE;
    assert_int_equal(fit(&arena, inside + 512, 512), 0);
    assert_mapped(inside, PIECE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_int_equal(mappings(), 2);
    fake.cleared = 0;
    assert_int_equal(arena_clear_scratch(&arena, NULL, &err), 0);
    assert_int_equal(fake.cleared, PIECE);
    assert_int_equal(arena_clear(&arena, NULL, &err), 0);
    assert_int_equal(fake.cleared, 4 * PIECE);
    /* The same again needs nothing new; across pieces it is both of them. */
    unsigned made = fake.made;
    assert_int_equal(fit(&arena, inside, PIECE), 0);
    assert_int_equal(fake.made, made);
    assert_int_equal(fit(&arena, inside + PIECE - 1, 2), 0);
    assert_mapped(inside, 2 * PIECE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_int_equal(fit(&arena, arena.address, arena.workspace_bytes), 0);
    assert_mapped(arena.address, 16ull << 20, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_int_equal(mappings(), 2);
    assert_int_equal(fit(&arena, 0, 0), 0);
    assert_int_equal(mappings(), 1);
    /* What is outside is refused. */
    assert_int_equal(fit(&arena, arena.address - 1, 1), -1);
    assert_int_equal(fit(&arena, ARENA_BUFFERS, 1), -1);
    assert_int_equal(fit(&arena, ARENA_BUFFERS - 1, 2), -1);
    assert_int_equal(fit(&arena, arena.address, UINT64_MAX - PIECE), -1);
    arena_close(&arena);
    assert_int_equal(mappings(), 0);
    assert_int_equal(fake.released, fake.made);
}

static void what_cannot_be_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    struct arena arena;
    kgrade_error err = {.code = ""};
    fake = (struct fake){.elsewhere = true};
    assert_int_equal(arena_create(&arena, &context, 0, CASE_BYTES, &err), -1);
    assert_string_equal(err.code, "arena_failed");
    assert_int_equal(fake.freed_at, ELSEWHERE);
    assert_int_equal(fake.released, 1);
    fake = (struct fake){.no_access = true};
    assert_int_equal(arena_create(&arena, &context, 0, CASE_BYTES, &err), -1);
    assert_int_equal(mappings(), 0);
    assert_int_equal(fake.unmapped_at, ARENA_BUFFERS);
    assert_int_equal(fake.freed_at, fake.reserved_at);
    assert_int_equal(fake.released, 1);
    make(&arena, PIECE);
    fake.no_access = true;
    assert_int_equal(fit(&arena, arena.address, 1), -1);
    assert_int_equal(mappings(), 1);
    arena_close(&arena);
    assert_int_equal(fake.released, fake.made);
    fake = (struct fake){.wanted = 0};
    assert_int_equal(arena_create(&arena, &context, ARENA_MAX_WORKSPACE + 1, CASE_BYTES, &err), -1);
    assert_int_equal(arena_create(&arena, &context, 0, 0, &err), -1);
    assert_int_equal(arena_create(&arena, &context, 0, ARENA_MAX_BYTES, &err), -1);
    assert_int_equal(fake.reserved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_lie_in_one_place_whatever_the_workspace),
        cmocka_unit_test(another_process_maps_it_at_the_same_place_and_the_judge_anywhere),
        cmocka_unit_test(only_what_a_call_needs_is_mapped),
        cmocka_unit_test(what_cannot_be_is_an_error_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
