/* Two recordings of one call: the same work, but for one thing. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/measure/work.h"

#define N_PARAMS 4u
#define PARAM_ADDRESS 0x700000000000ull

static struct task task = {.name = (char *)"sample", .n_params = N_PARAMS, .n_dims = 1};

/* What one recording has; a test changes one of these. */
struct shape {
    const char *code, *options, *kernel;
    uint64_t grid, block;
    size_t input;            /* a parameter of the task, or one of the candidate's own buffers */
    uint64_t own, own_bytes; /* a buffer of the candidate's own, and where it lies */
    uint64_t pointer;        /* in an argument, as on a device whose pointers are plain numbers */
    int32_t scalar;
    const char *variable; /* whose address is an argument, and which byte's */
    uint64_t variable_at;
    int64_t window;          /* an attribute's value */
    uint64_t filled, copied; /* bytes */
    uint8_t pattern, contents;
    unsigned nodes, edge_from;
    bool reversed; /* images in another order: an index means nothing */
};

static const struct shape plain = {.code = "kernel void work() {}",
                                   .options = "-O2",
                                   .kernel = "work",
                                   .grid = 128,
                                   .block = 32,
                                   .variable = "table",
                                   .own = 0x600000000000,
                                   .own_bytes = 4096,
                                   .pointer = 0x600000000100,
                                   .scalar = 7,
                                   .window = 3,
                                   .filled = 64,
                                   .copied = 32,
                                   .nodes = 3,
                                   .edge_from = 0};

static void add_bytes(struct recording_node *node, uint32_t offset, const void *data, uint32_t size)
{
    struct recording_arg *arg = recording_add_arg(node, ARG_BYTES);
    arg->offset = offset;
    arg->size = size;
    arg->bytes = malloc(size);
    assert_non_null(arg->bytes);
    memcpy(arg->bytes, data, size);
}

static void add_kernel(struct recording_call *call, const struct shape *s, size_t image)
{
    /* A structure by value, with a pointer, a number and a tail that is no whole word. */
    struct {
        uint64_t pointer, param;
        int32_t scalar;
    } packed = {s->pointer, PARAM_ADDRESS, s->scalar};
    struct recording_node *node = recording_add_node(call, NODE_KERNEL);
    node->image = image;
    node->name = strdup(s->kernel);
    node->grid[0] = s->grid;
    node->block[0] = s->block;
    recording_add_arg(node, ARG_BUFFER)->buffer = s->input;
    recording_add_arg(node, ARG_LOCAL)->size = 256;
    struct recording_arg *variable = recording_add_arg(node, ARG_VARIABLE);
    variable->image = image;
    variable->name = strdup(s->variable);
    variable->at = s->variable_at;
    add_bytes(node, 16, &packed, offsetof(__typeof__(packed), scalar) + sizeof packed.scalar);
    struct recording_attribute *attribute = recording_add_attribute(node, "window");
    attribute->n = 1;
    attribute->values[0] = s->window;
}

static struct recording *make(const struct shape *s)
{
    static const int64_t dims[1] = {5};
    struct recording *r = recording_new("opencl", &task);
    size_t image = 0;
    for (int i = 0; i < 2; i++) {
        bool used = (i == 1) == s->reversed;
        const char *code = used ? s->code : "kernel void other() {}";
        size_t index =
            recording_add_image(r, "opencl-c", used ? s->options : "", code, strlen(code));
        image = used ? index : image;
    }
    struct recording_call *call = recording_add_call(r, dims);
    struct recording_buffer *own = recording_add_buffer(call, s->own_bytes);
    own->address = s->own;
    own->has_contents = true;
    own->blob = recording_add_blob(r, &s->contents, 1);
    recording_add_buffer(call, 16);
    for (unsigned i = 0; i < s->nodes; i++)
        add_kernel(call, s, image);
    struct recording_node *fill = recording_add_node(call, NODE_FILL);
    fill->to_buffer = SIZE_MAX;
    fill->to_offset = s->pointer;
    fill->bytes = s->filled;
    fill->pattern[0] = s->pattern;
    fill->pattern_bytes = 1;
    struct recording_node *copy = recording_add_node(call, NODE_COPY);
    copy->from_buffer = 0;
    copy->to_buffer = N_PARAMS;
    copy->bytes = s->copied;
    recording_add_edge(call, s->edge_from, 2);
    return r;
}

static enum work_difference compare(const struct shape *x, const struct shape *y)
{
    cleanup_recording struct recording *a = make(x), *b = make(y);
    enum work_difference d = work_compare(a, &a->calls[0], b, &b->calls[0]);
    assert_int_equal(work_compare(b, &b->calls[0], a, &a->calls[0]), d);
    return d;
}

#define EXPECT(difference, change)                                                                 \
    do {                                                                                           \
        struct shape changed = plain;                                                              \
        changed.change;                                                                            \
        assert_int_equal(compare(&plain, &changed), difference);                                   \
    } while (0)

static void the_same_is_the_same(void **state)
{
    (void)state;
    assert_int_equal(compare(&plain, &plain), WORK_SAME);
    EXPECT(WORK_SAME, reversed = true);
}

/* Where a candidate's own memory lies, how much there is and what is in it. */
static void own_memory_may_lie_elsewhere(void **state)
{
    (void)state;
    struct shape other = plain;
    other.own += 0x10000;
    other.pointer += 0x10000 + 8; /* another place in it, too */
    assert_int_equal(compare(&plain, &other), WORK_SAME);
    EXPECT(WORK_SAME, contents = 9);
    EXPECT(WORK_SAME, own_bytes = 8192);
    struct shape first = plain;
    first.input = N_PARAMS;
    other = plain;
    other.input = N_PARAMS + 1;
    assert_int_equal(compare(&first, &other), WORK_SAME);
}

static void other_launches_are_found(void **state)
{
    (void)state;
    EXPECT(WORK_NODES, nodes = 4);
    EXPECT(WORK_GRID, grid = 64);
    EXPECT(WORK_GRID, block = 64);
    EXPECT(WORK_KERNEL, kernel = "less_work");
    EXPECT(WORK_IMAGE, code = "kernel void work() { }");
    EXPECT(WORK_IMAGE, options = "-O3");
    EXPECT(WORK_SETTINGS, window = 4);
    EXPECT(WORK_EDGES, edge_from = 1);
}

static void other_arguments_are_found(void **state)
{
    (void)state;
    EXPECT(WORK_ARGUMENTS, scalar = 8);
    EXPECT(WORK_ARGUMENTS, input = 1);
    EXPECT(WORK_ARGUMENTS, input = N_PARAMS);
    EXPECT(WORK_ARGUMENTS, pointer = PARAM_ADDRESS);
    EXPECT(WORK_ARGUMENTS, pointer = 12);
    EXPECT(WORK_ARGUMENTS, variable = "other");
    EXPECT(WORK_ARGUMENTS, variable_at = 4);
}

static void other_copies_and_fills_are_found(void **state)
{
    (void)state;
    EXPECT(WORK_TRANSFER, filled = 128);
    EXPECT(WORK_TRANSFER, pattern = 1);
    EXPECT(WORK_TRANSFER, copied = 16);
}

static void each_difference_has_words(void **state)
{
    (void)state;
    for (int d = WORK_SAME; d <= WORK_TRANSFER; d++)
        for (int other = WORK_SAME; other < d; other++)
            assert_string_not_equal(work_words((enum work_difference)d),
                                    work_words((enum work_difference)other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_the_same),
        cmocka_unit_test(own_memory_may_lie_elsewhere),
        cmocka_unit_test(other_launches_are_found),
        cmocka_unit_test(other_arguments_are_found),
        cmocka_unit_test(other_copies_and_fills_are_found),
        cmocka_unit_test(each_difference_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
