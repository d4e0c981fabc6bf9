/* A candidate's memory in a recording: what goes along, as what, and where it ends. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/shared/contents.h"
#include "grader/devices/shared/runs.h"

#define BASE 0x10000000ull
#define MOVED 0x70000000ull

static struct {
    uint64_t from, bytes; /* memory that is not zero */
    bool striped;         /* of it every other part only */
    bool refuses;
    unsigned reads;
} memory;

static int read_memory(void *to, uint64_t address, uint64_t bytes, kgrade_error *err)
{
    memory.reads++;
    if (memory.refuses) {
        *err = (kgrade_error){.code = "pointer_in_memory"};
        return -1;
    }
    memset(to, 0, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        if (address + i >= memory.from && address + i - memory.from < memory.bytes &&
            (!memory.striped || (address + i) / RUNS_GRAIN % 2))
            ((uint8_t *)to)[i] = 1;
    return 0;
}

static uint64_t move(uint64_t address)
{
    return address - BASE + MOVED;
}

static struct workspace *workspace;
static struct recording *recording;
static struct recording_call *call;

static int begin(void **state)
{
    static const struct task task = {.name = (char *)(uintptr_t) "contents"};
    static const int64_t dims[TASK_MAX_PARAMS];
    (void)state;
    memory.from = memory.bytes = 0;
    memory.refuses = memory.striped = false;
    memory.reads = 0;
    workspace = workspace_new(BASE, 64 << 20);
    recording = recording_new("cuda", &task);
    call = recording_add_call(recording, dims);
    return workspace && call ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    workspace_delete(workspace);
    recording_free(recording);
    return 0;
}

static int write_contents(kgrade_error *err)
{
    const struct contents_source source = {workspace, read_memory, move};
    *err = (kgrade_error){.code = ""};
    return contents_write(&source, recording, call, err);
}

static void only_what_was_there_goes_with_its_contents(void **state)
{
    (void)state;
    kgrade_error err;
    uint64_t old = workspace_allocate(workspace, RUNS_GRAIN);
    memory.from = old;
    memory.bytes = RUNS_GRAIN;
    workspace_mark(workspace);
    uint64_t fresh = workspace_allocate(workspace, 512);
    assert_int_equal(write_contents(&err), 0);
    assert_int_equal(call->n_buffers, 2);
    assert_true(call->buffers[0].address == move(old) && call->buffers[0].has_contents);
    assert_true(call->buffers[1].address == move(fresh) && !call->buffers[1].has_contents);
    assert_int_equal(recording->blobs[call->buffers[0].blob].size, RUNS_GRAIN);
    assert_int_equal(memory.reads, 1);
}

static void what_is_zero_is_left_out(void **state)
{
    (void)state;
    kgrade_error err;
    uint64_t at = workspace_allocate(workspace, 4 * (uint64_t)RUNS_GRAIN);
    memory.from = at + 2 * (uint64_t)RUNS_GRAIN;
    memory.bytes = 1;
    workspace_mark(workspace);
    assert_int_equal(write_contents(&err), 0);
    assert_int_equal(call->n_buffers, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(call->buffers[i].has_contents, i == 1);
    assert_true(call->buffers[1].address == move(memory.from));
    assert_int_equal(call->buffers[1].bytes, RUNS_GRAIN);
}

/* More than a recording has place for; side by side they are one. */
static void fresh_neighbours_are_one(void **state)
{
    (void)state;
    kgrade_error err;
    workspace_mark(workspace);
    for (size_t i = 0; i < RECORDING_MAX_BUFFERS + 10; i++)
        assert_true(workspace_allocate(workspace, 512) != 0);
    assert_int_equal(write_contents(&err), 0);
    assert_int_equal(call->n_buffers, 1);
    assert_int_equal(call->buffers[0].bytes, (RECORDING_MAX_BUFFERS + 10) * 512);
    assert_int_equal(memory.reads, 0);
}

static void too_many_blocks_are_refused(void **state)
{
    (void)state;
    kgrade_error err;
    for (size_t i = 0; i <= RECORDING_MAX_BUFFERS; i++)
        assert_true(workspace_allocate(workspace, 512) != 0);
    workspace_mark(workspace);
    assert_int_equal(write_contents(&err), -1);
    assert_string_equal(err.code, "workspace_too_large");
    assert_int_equal(memory.reads, 0);
}

/* Memory that was freed and used again in another shape is on no list of blocks, and a replay needs it all the same. */
static void what_was_used_in_parts_is_within_the_buffers(void **state)
{
    (void)state;
    kgrade_error err;
    uint64_t room, total;
    workspace_room(workspace, &room, &total);
    workspace_mark(workspace);
    const uint64_t half = total / 2 / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
    uint64_t a = workspace_allocate(workspace, half), b = workspace_allocate(workspace, half);
    assert_true(workspace_free(workspace, a) && workspace_free(workspace, b));
    uint64_t again = workspace_allocate(workspace, half + 512);
    assert_true(again != 0);
    assert_int_equal(write_contents(&err), 0);
    assert_int_equal(call->n_buffers, 2);
    assert_true(call->buffers[0].address == move(again));
    assert_true(call->buffers[1].address + call->buffers[1].bytes == move(b + half));
    assert_false(call->buffers[1].has_contents);
}

/* A replay puts back one after the other. */
static void pieces_are_limited(void **state)
{
    (void)state;
    kgrade_error err;
    const struct contents_source source = {workspace, read_memory, NULL};
    uint64_t at = workspace_allocate(workspace, 32 << 20);
    memory.from = at;
    memory.bytes = 32 << 20;
    memory.striped = true;
    workspace_mark(workspace);
    err = (kgrade_error){.code = ""};
    assert_int_equal(contents_write(&source, recording, call, &err), 0);
    assert_in_range(call->n_buffers, 2, CONTENTS_MAX_PIECES + (32 << 20) / CONTENTS_CHUNK);
    assert_true(call->buffers[0].address == at);
    const struct recording_buffer *last = &call->buffers[call->n_buffers - 1];
    assert_true(last->has_contents && last->address + last->bytes == at + (32 << 20));
}

/* So that scratch memory which calls leave as it was does not fill a recording once for each. */
static void what_stays_as_it_was_is_kept_once(void **state)
{
    (void)state;
    kgrade_error err;
    const uint64_t bytes = 3 * CONTENTS_CHUNK;
    uint64_t at = workspace_allocate(workspace, bytes);
    memory.from = at;
    memory.bytes = bytes;
    workspace_mark(workspace);
    assert_int_equal(write_contents(&err), 0);
    size_t first = call->n_buffers, blobs = recording->n_blobs;
    assert_in_range(first, 3, 4); /* cut at multiples: the block may begin between two */
    memory.bytes -= 1;
    call = recording_add_call(recording, (const int64_t[TASK_MAX_PARAMS]){1});
    assert_non_null(call);
    assert_int_equal(write_contents(&err), 0);
    assert_int_equal(call->n_buffers, first);
    assert_int_equal(recording->n_blobs, blobs + 1); /* the last piece; the others are known */
    uint64_t end_of_last = at;
    for (size_t i = 0; i < first; i++) {
        assert_true(call->buffers[i].address == move(end_of_last));
        end_of_last += call->buffers[i].bytes;
        assert_true(end_of_last == at + bytes || end_of_last % CONTENTS_CHUNK == 0);
    }
    assert_true(end_of_last == at + bytes);
}

static void what_cannot_be_carried_is_refused(void **state)
{
    (void)state;
    kgrade_error err;
    workspace_allocate(workspace, 512);
    workspace_mark(workspace);
    memory.refuses = true;
    assert_int_equal(write_contents(&err), -1);
    assert_string_equal(err.code, "pointer_in_memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_was_there_goes_with_its_contents, begin, end),
        cmocka_unit_test_setup_teardown(what_is_zero_is_left_out, begin, end),
        cmocka_unit_test_setup_teardown(fresh_neighbours_are_one, begin, end),
        cmocka_unit_test_setup_teardown(too_many_blocks_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(what_was_used_in_parts_is_within_the_buffers, begin, end),
        cmocka_unit_test_setup_teardown(pieces_are_limited, begin, end),
        cmocka_unit_test_setup_teardown(what_stays_as_it_was_is_kept_once, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_carried_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
