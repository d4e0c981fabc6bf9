#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "grader/devices/cuda/hooks.h"

/* As PyTorch finds them, by name. */
void *kgrade_torch_allocate(ssize_t size, int device, CUstream stream);
void kgrade_torch_free(void *address, ssize_t size, int device, CUstream stream);

#define STREAM ((CUstream)2)
#define OTHER ((CUstream)4)
#define ROOM 1000u

/* What the hooks would do, with a place for each block. */
static struct {
    CUdeviceptr next;
    size_t used, sizes[1024];
    unsigned allocations;
    void (*at_calls)(void);
} fake;

void hooks_at_calls(void (*function)(void))
{
    fake.at_calls = function;
}

CUresult cuMemAlloc(CUdeviceptr *ret, size_t bytes)
{
    if (fake.used + bytes > ROOM)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake.allocations++;
    fake.used += bytes;
    fake.sizes[++fake.next] = bytes;
    *ret = fake.next;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    fake.used -= fake.sizes[address];
    fake.sizes[address] = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    *ret_free = ROOM - fake.used;
    *ret_total = ROOM;
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    fake.at_calls();
    fake.used = fake.allocations = 0;
    fake.next = 0;
    return 0;
}

static void what_is_freed_serves_the_same_size_on_the_same_stream(void **state)
{
    (void)state;
    void *a = kgrade_torch_allocate(100, 0, STREAM);
    kgrade_torch_free(a, 100, 0, STREAM);
    assert_ptr_not_equal(kgrade_torch_allocate(100, 0, OTHER), a);
    assert_ptr_not_equal(kgrade_torch_allocate(101, 0, STREAM), a);
    assert_ptr_equal(kgrade_torch_allocate(100, 0, STREAM), a);
    assert_ptr_not_equal(kgrade_torch_allocate(100, 0, STREAM), a);
    assert_int_equal(fake.allocations, 4);
}

static void the_last_one_freed_is_the_first_to_serve(void **state)
{
    (void)state;
    void *a = kgrade_torch_allocate(10, 0, STREAM), *b = kgrade_torch_allocate(10, 0, STREAM);
    kgrade_torch_free(a, 10, 0, STREAM);
    kgrade_torch_free(b, 10, 0, STREAM);
    assert_ptr_equal(kgrade_torch_allocate(10, 0, STREAM), b);
    assert_ptr_equal(kgrade_torch_allocate(10, 0, STREAM), a);
}

static void a_call_begins_and_ends_with_nothing_kept(void **state)
{
    (void)state;
    void *a = kgrade_torch_allocate(100, 0, STREAM);
    kgrade_torch_free(a, 100, 0, STREAM);
    assert_int_equal(fake.used, 100);
    assert_non_null(fake.at_calls);
    fake.at_calls();
    assert_int_equal(fake.used, 0);
}

static void what_is_kept_makes_room(void **state)
{
    (void)state;
    void *a = kgrade_torch_allocate(600, 0, STREAM);
    kgrade_torch_free(a, 600, 0, STREAM);
    assert_non_null(kgrade_torch_allocate(700, 0, STREAM));
    assert_int_equal(fake.used, 700);
}

static void more_than_can_be_kept_is_given_back(void **state)
{
    (void)state;
    enum { MANY = 600 };
    void *blocks[MANY];
    for (int i = 0; i < MANY; i++)
        blocks[i] = kgrade_torch_allocate(1, 0, STREAM);
    assert_int_equal(fake.used, MANY);
    for (int i = 0; i < MANY; i++)
        kgrade_torch_free(blocks[i], 1, 0, STREAM);
    assert_in_range(fake.used, 1, MANY - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_freed_serves_the_same_size_on_the_same_stream, begin),
        cmocka_unit_test_setup(the_last_one_freed_is_the_first_to_serve, begin),
        cmocka_unit_test_setup(a_call_begins_and_ends_with_nothing_kept, begin),
        cmocka_unit_test_setup(what_is_kept_makes_room, begin),
        cmocka_unit_test_setup(more_than_can_be_kept_is_given_back, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
