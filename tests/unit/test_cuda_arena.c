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
#define MEMORY 77u
#define CASE_BYTES (3ull << 20)

static struct fake {
    bool elsewhere, no_access; /* does not honour an address; refuses access */
    CUdeviceptr wanted, reserved_at, mapped_at, unmapped_at, freed_at;
    uint64_t reserved, mapped, accessible, freed;
    unsigned int access;
    unsigned released;
} fake;

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
    assert_int_equal(handle, MEMORY);
    fake.mapped_at = ptr;
    fake.mapped = size;
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    assert_int_equal(size, fake.mapped);
    fake.unmapped_at = ptr;
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    assert_int_equal(count, 1);
    assert_int_equal(ptr, fake.mapped_at);
    fake.accessible = size;
    fake.access = desc->flags;
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
    (void)size, (void)prop, (void)flags;
    *ret = MEMORY;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    assert_int_equal(handle, MEMORY);
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
    *ret = MEMORY;
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
        assert_int_equal(fake.mapped_at, ARENA_BUFFERS - arena.workspace_bytes);
        assert_int_equal(fake.mapped, arena.bytes);
        assert_int_equal(fake.accessible, arena.bytes);
        assert_int_equal(fake.access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        /* In whole pieces, around all of it. */
        assert_int_equal(fake.reserved_at % ARENA_RESERVATION, 0);
        assert_int_equal(fake.reserved % ARENA_RESERVATION, 0);
        assert_true(fake.reserved_at <= fake.mapped_at);
        assert_true(fake.mapped_at + fake.mapped <= fake.reserved_at + fake.reserved);
        arena_close(&arena);
        assert_int_equal(fake.unmapped_at, fake.mapped_at);
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
    assert_int_equal(arena_import(&same, &context, fd, ARENA_READ_WRITE, &err), 0);
    assert_int_equal(same.address, arena.address);
    assert_int_equal(arena_buffers(&same), ARENA_BUFFERS);
    arena_close(&same);
    assert_int_equal(arena_import(&read, &context, fd, ARENA_READ_ONLY, &err), 0);
    assert_int_equal(fake.wanted, 0);
    assert_int_equal(read.address, ELSEWHERE);
    assert_int_equal(arena_buffers(&read), ELSEWHERE + (6ull << 20));
    assert_int_equal(fake.access, CU_MEM_ACCESS_FLAGS_PROT_READ);
    arena_close(&read);
    assert_int_equal(arena_import(&read, &context, fd, ARENA_FILL, &err), 0);
    assert_int_equal(read.address, ELSEWHERE);
    assert_int_equal(fake.access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    arena_close(&read);
    arena_close(&arena);
    close(fd);
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
    assert_int_equal(fake.unmapped_at, ARENA_BUFFERS);
    assert_int_equal(fake.freed_at, fake.reserved_at);
    assert_int_equal(fake.released, 1);
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
        cmocka_unit_test(what_cannot_be_is_an_error_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
