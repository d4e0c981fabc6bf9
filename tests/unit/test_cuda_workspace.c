#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grader/devices/shared/workspace.h"

#define BASE 0x600000001000ull
#define SIZE (64ull << 10)

static void blocks_are_aligned_and_apart(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, 1), b = workspace_allocate(w, 513),
             c = workspace_allocate(w, 512);
    assert_int_equal(a, BASE);
    assert_int_equal(b, BASE + 512);
    assert_int_equal(c, BASE + 512 + 1024);
    workspace_delete(w);
}

static void nothing_gets_an_address_too(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, 0), b = workspace_allocate(w, 0);
    assert_true(a && b && a != b);
    workspace_delete(w);
}

static void a_start_that_is_not_aligned_loses_the_odd_bytes(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE + 8, 1024);
    uint64_t room, total;
    workspace_room(w, &room, &total);
    assert_int_equal(total, 512);
    assert_int_equal(workspace_allocate(w, 512), BASE + 512);
    assert_int_equal(workspace_allocate(w, 1), 0);
    workspace_delete(w);
}

static void all_of_it_can_be_used_and_not_more(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    assert_int_equal(workspace_allocate(w, SIZE + 1), 0);
    assert_int_equal(workspace_allocate(w, UINT64_MAX), 0);
    assert_int_equal(workspace_allocate(w, UINT64_MAX - 100), 0);
    assert_int_equal(workspace_allocate(w, SIZE), BASE);
    assert_int_equal(workspace_allocate(w, 1), 0);
    workspace_delete(w);
}

static void freed_blocks_wait_until_the_device_is_idle(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, 4096);
    assert_true(workspace_free(w, a));
    uint64_t b = workspace_allocate(w, 4096);
    assert_int_not_equal(a, b);
    workspace_settle(w);
    assert_int_equal(workspace_allocate(w, 4096), a);
    workspace_delete(w);
}

static void freed_blocks_are_used_at_once_when_nothing_else_is_left(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, SIZE);
    assert_true(workspace_free(w, a));
    assert_int_equal(workspace_allocate(w, SIZE), a);
    workspace_delete(w);
}

/* Their contents belong to the recording. */
static void marked_blocks_are_never_used_again_within_the_call(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, SIZE);
    workspace_mark(w);
    assert_true(workspace_free(w, a));
    assert_int_equal(workspace_allocate(w, 512), 0);
    workspace_settle(w);
    assert_int_equal(workspace_allocate(w, 512), a);
    workspace_delete(w);
}

static void only_the_start_of_a_used_block_can_be_freed(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, 4096);
    assert_false(workspace_free(w, a + 512));
    assert_false(workspace_free(w, 0));
    assert_false(workspace_free(w, BASE + SIZE));
    assert_true(workspace_free(w, a));
    assert_false(workspace_free(w, a)); /* twice */
    workspace_delete(w);
}

static void neighbours_become_one(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t block[8];
    for (int i = 0; i < 8; i++)
        block[i] = workspace_allocate(w, SIZE / 8);
    const int order[] = {3, 1, 5, 7, 0, 4, 2, 6};
    for (int i = 0; i < 8; i++) {
        assert_true(workspace_free(w, block[order[i]]));
        workspace_settle(w);
    }
    assert_int_equal(workspace_allocate(w, SIZE), BASE);
    workspace_delete(w);
}

static void the_smallest_hole_that_fits_is_taken(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t large = workspace_allocate(w, 8192), wall = workspace_allocate(w, 512);
    uint64_t small = workspace_allocate(w, 1024), end = workspace_allocate(w, 512);
    assert_true(wall && end && workspace_free(w, large) && workspace_free(w, small));
    workspace_settle(w);
    assert_int_equal(workspace_allocate(w, 1000), small);
    workspace_delete(w);
}

static void a_call_sees_what_was_there_and_what_it_made(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    struct workspace_block blocks[8];
    uint64_t kept = workspace_allocate(w, 512), freed = workspace_allocate(w, 512);
    workspace_mark(w);
    uint64_t made = workspace_allocate(w, 512), passing = workspace_allocate(w, 512);
    assert_true(workspace_free(w, freed) && workspace_free(w, passing));
    assert_int_equal(workspace_blocks(w, blocks, 8), 4);
    assert_int_equal(blocks[0].address, kept);
    assert_true(blocks[0].is_marked && blocks[1].is_marked && !blocks[2].is_marked &&
                !blocks[3].is_marked);
    assert_int_equal(blocks[2].address, made);
    assert_int_equal(workspace_blocks(w, blocks, 1), 4); /* the number, however many fit */
    workspace_settle(w);
    assert_int_equal(workspace_blocks(w, blocks, 8), 2);
    workspace_delete(w);
}

/* Where there was no room but in what had been freed, the list forgets that it was used. */
static void the_span_has_what_the_list_forgot(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    struct workspace_block blocks[8];
    uint64_t from = 1, end = 1, kept = workspace_allocate(w, 512);
    workspace_mark(w);
    workspace_span(w, &from, &end);
    assert_true(kept && from == 0 && end == 0);
    uint64_t half = 62 * 512, a = workspace_allocate(w, half), b = workspace_allocate(w, half);
    assert_true(a && b && workspace_free(w, a) && workspace_free(w, b));
    uint64_t c = workspace_allocate(w, half + 512);
    assert_true(c && workspace_free(w, c));
    size_t n = workspace_blocks(w, blocks, 8);
    assert_int_equal(blocks[n - 1].address + blocks[n - 1].bytes, c + half + 512);
    workspace_span(w, &from, &end);
    assert_int_equal(from, BASE + 512);
    assert_int_equal(end, b + half);
    workspace_delete(w);
}

static void a_pointer_into_a_block_finds_it(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, SIZE);
    uint64_t a = workspace_allocate(w, 5000), address = 0, bytes = 0;
    assert_true(workspace_find(w, a + 4999, &address, &bytes));
    assert_int_equal(address, a);
    assert_int_equal(bytes, 5120);
    assert_false(workspace_find(w, a + 5120, &address, &bytes));
    workspace_delete(w);
}

static void the_number_of_blocks_has_a_limit(void **state)
{
    (void)state;
    struct workspace *w = workspace_new(BASE, 512ull * WORKSPACE_MAX_BLOCKS * 2);
    /* The last block is what is left over. */
    uint64_t last = 0;
    for (unsigned i = 0; i < WORKSPACE_MAX_BLOCKS - 1; i++) {
        last = workspace_allocate(w, 1);
        if (i % 1000 == 0)
            assert_true(last != 0);
    }
    assert_true(last != 0);
    assert_int_equal(workspace_allocate(w, 1), 0);
    assert_true(workspace_free(w, last));
    workspace_settle(w);
    assert_int_equal(workspace_allocate(w, 1), last);
    workspace_delete(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_apart),
        cmocka_unit_test(nothing_gets_an_address_too),
        cmocka_unit_test(a_start_that_is_not_aligned_loses_the_odd_bytes),
        cmocka_unit_test(all_of_it_can_be_used_and_not_more),
        cmocka_unit_test(freed_blocks_wait_until_the_device_is_idle),
        cmocka_unit_test(freed_blocks_are_used_at_once_when_nothing_else_is_left),
        cmocka_unit_test(marked_blocks_are_never_used_again_within_the_call),
        cmocka_unit_test(only_the_start_of_a_used_block_can_be_freed),
        cmocka_unit_test(neighbours_become_one),
        cmocka_unit_test(the_smallest_hole_that_fits_is_taken),
        cmocka_unit_test(a_call_sees_what_was_there_and_what_it_made),
        cmocka_unit_test(the_span_has_what_the_list_forgot),
        cmocka_unit_test(a_pointer_into_a_block_finds_it),
        cmocka_unit_test(the_number_of_blocks_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
