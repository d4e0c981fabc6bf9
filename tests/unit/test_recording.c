#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/recording.h"

static struct task task = {.name = (char *)"vector_add", .n_params = 5, .n_dims = 1};

static struct recording *example(int64_t n)
{
    struct recording *r = recording_new("opencl", &task);
    const char source[] = "kernel void add() {}";
    size_t image = recording_add_image(r, "opencl-c", "-cl-fast", source, sizeof source - 1);
    struct recording_call *call = recording_add_call(r, &n);
    struct recording_buffer *scratch = recording_add_buffer(call, 4);
    scratch->has_contents = true;
    scratch->blob = recording_add_blob(r, "\1\2\3\4", 4);
    for (int i = 0; i < 3; i++) {
        struct recording_node *node = recording_add_node(call, NODE_KERNEL);
        node->image = image;
        node->name = strdup("add");
        node->grid[0] = (uint64_t)n;
        recording_add_arg(node, ARG_BUFFER)->buffer = i == 2 ? 5 : (size_t)i;
        struct recording_arg *arg = recording_add_arg(node, ARG_BYTES);
        arg->size = 4;
        arg->bytes = malloc(4);
        memcpy(arg->bytes, &n, 4);
        recording_add_arg(node, ARG_LOCAL)->size = 1024;
        struct recording_arg *variable = recording_add_arg(node, ARG_VARIABLE);
        variable->offset = 8;
        variable->size = 8;
        variable->image = image;
        variable->name = strdup("table");
        variable->at = 12;
        struct recording_attribute *attribute = recording_add_attribute(node, "cluster");
        attribute->n = 3;
        attribute->values[0] = 2;
    }
    struct recording_node *fill = recording_add_node(call, NODE_FILL);
    fill->to_buffer = 2;
    fill->bytes = 8;
    fill->pattern_bytes = 4;
    recording_add_edge(call, 0, 1);
    recording_add_edge(call, 1, 2);
    recording_add_edge(call, 0, 3);
    return r;
}

static void writing_and_parsing_give_the_same_bytes(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = example(1000), *back = NULL;
    cleanup_bytes struct bytes first = {0}, second = {0};
    assert_int_equal(recording_write(r, &first, NULL), 0);
    assert_int_equal(recording_parse(first.data, first.size, &back, NULL), 0);
    assert_int_equal(recording_write(back, &second, NULL), 0);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    assert_int_equal(back->calls[0].n_nodes, 4);
    assert_int_equal(back->calls[0].nodes[2].args[0].buffer, 5);
    assert_string_equal(back->images[0].options, "-cl-fast");
}

static void merging_shares_images_and_keeps_calls(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = example(1000), *other = example(2000);
    assert_int_equal(recording_merge(r, other, NULL), 0);
    assert_int_equal(r->n_calls, 2);
    assert_int_equal(r->n_images, 1);
    int64_t n = 2000;
    const struct recording_call *call = recording_find_call(r, &n);
    assert_non_null(call);
    assert_int_equal(call->nodes[0].grid[0], 2000);
    n = 3000;
    assert_null(recording_find_call(r, &n));
    cleanup_bytes struct bytes file = {0};
    cleanup_recording struct recording *back = NULL;
    assert_int_equal(recording_write(r, &file, NULL), 0);
    assert_int_equal(recording_parse(file.data, file.size, &back, NULL), 0);
}

/* What a recorder that has recorded `before` would hand over for n. */
static void write_part(const struct recording *before, int64_t n, struct bytes *ret)
{
    struct recording_known known = {.n = 0};
    assert_int_equal(recording_know(&known, before), 0);
    assert_int_equal(recording_know(&known, before), 0);
    assert_int_equal(known.n, before->n_blobs);
    cleanup_recording struct recording *r = recording_new("opencl", &task);
    r->known = &known;
    const char source[] = "kernel void add() {}", other[] = "kernel void other() {}";
    char hash[HASH_HEX];
    hash_hex(source, sizeof source - 1, hash);
    size_t image =
        recording_add_hashed_image(r, "opencl-c", "-cl-fast", hash, source, sizeof source - 1);
    struct recording_call *call = recording_add_call(r, &n);
    for (int i = 0; i < 2; i++) {
        struct recording_node *node = recording_add_node(call, NODE_KERNEL);
        node->image = i ? recording_add_image(r, "opencl-c", "", other, sizeof other - 1) : image;
        node->name = strdup("add");
        node->grid[0] = 1;
    }
    assert_int_equal(recording_write(r, ret, NULL), 0);
    recording_forget(&known);
}

static void a_part_names_what_was_handed_over(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = example(1000), *part = NULL, *whole = NULL;
    cleanup_bytes struct bytes file = {0}, all = {0};
    kgrade_error err;
    write_part(r, 2000, &file);
    assert_null(memmem(file.data, file.size, "kernel void add", 15));
    assert_non_null(memmem(file.data, file.size, "kernel void other", 17));
    assert_int_equal(recording_parse(file.data, file.size, &part, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
    assert_int_equal(recording_parse_part(file.data, file.size, &part, NULL), 0);
    assert_int_equal(recording_merge(r, part, NULL), 0);
    assert_int_equal(r->n_images, 2);
    assert_int_equal(recording_write(r, &all, NULL), 0);
    assert_int_equal(recording_parse(all.data, all.size, &whole, NULL), 0);
    assert_string_equal((const char *)whole->images[0].options, "-cl-fast");
}

static void a_part_is_completed_from_elsewhere(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = example(1000), *part = NULL, *whole = NULL,
                                       *apart = recording_new("opencl", &task);
    cleanup_bytes struct bytes file = {0}, all = {0};
    write_part(r, 1000, &file);
    assert_int_equal(recording_parse_part(file.data, file.size, &part, NULL), 0);
    assert_int_equal(recording_complete(part, r, NULL), 0);
    assert_int_equal(recording_merge(apart, part, NULL), 0);
    assert_int_equal(recording_write(apart, &all, NULL), 0);
    assert_int_equal(recording_parse(all.data, all.size, &whole, NULL), 0);
    assert_memory_equal(whole->blobs[whole->images[0].blob].data, "kernel void add", 15);
}

/* A recorder may name what it never handed over, or say that it has another size. */
static void what_was_never_handed_over_is_refused(void **state)
{
    (void)state;
    cleanup_recording struct recording *before = example(1000), *part = NULL, *other = NULL,
                                       *empty = recording_new("opencl", &task);
    cleanup_bytes struct bytes file = {0};
    kgrade_error err;
    write_part(before, 2000, &file);
    assert_int_equal(recording_parse_part(file.data, file.size, &part, NULL), 0);
    assert_int_equal(recording_complete(part, empty, NULL), 0);
    assert_int_equal(recording_merge(empty, part, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
    assert_int_equal(empty->n_calls, 0);
    char *size = memmem(file.data, file.size, "\"known\":20", 10);
    assert_non_null(size);
    size[9] = '1';
    assert_int_equal(recording_parse_part(file.data, file.size, &other, NULL), 0);
    assert_int_equal(recording_merge(before, other, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
    assert_int_equal(before->n_calls, 1);
}

/* A hash is looked up as text of one length. */
static void a_named_hash_has_all_its_digits(void **state)
{
    (void)state;
    cleanup_recording struct recording *before = example(1000), *part = NULL;
    cleanup_bytes struct bytes file = {0};
    kgrade_error err;
    write_part(before, 2000, &file);
    char *hash = memmem(file.data, file.size, "\"sha256\":\"", 10);
    assert_non_null(hash);
    memcpy(hash + 10 + 60, "\"    ", 5); /* it ends before its last four digits */
    assert_int_equal(recording_parse_part(file.data, file.size, &part, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
}

static void copies_and_fills_are_work(void **state)
{
    (void)state;
    struct recording_call call = {0};
    assert_false(recording_has_work(&call));
    assert_non_null(recording_add_node(&call, NODE_EMPTY));
    assert_false(recording_has_work(&call));
    assert_non_null(recording_add_node(&call, NODE_COPY));
    assert_true(recording_has_work(&call));
    free(call.nodes);
}

static void no_cut_passes(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = example(7);
    cleanup_bytes struct bytes file = {0};
    assert_int_equal(recording_write(r, &file, NULL), 0);
    for (size_t size = 0; size < file.size; size++) {
        struct recording *back = NULL;
        kgrade_error err;
        assert_int_equal(recording_parse(file.data, size, &back, &err), -1);
        assert_string_equal(err.code, "recording_invalid");
    }
}

/* Replaces text in the manifest by text of the same length, and parses. */
static void expect_refused(const char *from, const char *to)
{
    cleanup_recording struct recording *r = example(1000), *back = NULL;
    cleanup_bytes struct bytes file = {0};
    kgrade_error err;
    assert_int_equal(strlen(from), strlen(to));
    assert_int_equal(recording_write(r, &file, NULL), 0);
    char *at = memmem(file.data, file.size, from, strlen(from));
    if (!at)
        fail_msg("the manifest does not hold %s", from);
    memcpy(at, to, strlen(to));
    if (recording_parse(file.data, file.size, &back, &err) == 0)
        fail_msg("%s was taken", to);
    assert_string_equal(err.code, "recording_invalid");
}

static void lies_are_refused(void **state)
{
    (void)state;
    expect_refused("KGRADE1\n", "KGRADE2\n");
    expect_refused("\"format\":1", "\"format\":2");
    expect_refused("\"bytes\":20", "\"bytes\":99"); /* a blob longer than the file */
    expect_refused("\"bytes\":20", "\"bytes\":19"); /* a blob that does not match its hash */
    expect_refused("\"kernel\",\"image\":0", "\"kernel\",\"image\":7"); /* no such image */
    expect_refused("\"image\":0,\"name\":\"table\"", "\"image\":7,\"name\":\"table\"");
    expect_refused("\"name\":\"table\",\"offset\":12", "\"name\":\"table\",\"offset\":-2");
    expect_refused("\"buffer\":5", "\"buffer\":6");                       /* no such buffer */
    expect_refused("\"grid\":[1000,", "\"grid\":[-100,");                 /* a negative grid */
    expect_refused("\"grid\":[1000,", "\"grid\":[0000,");                 /* not JSON */
    expect_refused("[0,1,0,0,0],[1,2,0,0,0]", "[0,1,0,0,0],[1,0,0,0,0]"); /* a cycle */
    expect_refused("[0,3,0,0,0]", "[0,9,0,0,0]");                         /* an edge to nowhere */
    expect_refused("[0,3,0,0,0]", "[3,3,0,0,0]");                         /* an edge to itself */
    expect_refused("\"kind\":\"fill\"", "\"kind\":\"host\""); /* a kind that does not exist */
    expect_refused("\"kind\":\"fill\"", "\"kine\":\"fill\""); /* an unknown key */
    expect_refused("\"pattern\":\"00000000\"", "\"pattern\":\"0000000x\"");
    expect_refused("\"dims\":[1000]", "\"dims\":[1,00]");
    expect_refused("\"contents\":1", "\"contents\":0"); /* contents of another size */
    expect_refused("opencl-c", "opencl-x");
}

static void limits_are_kept(void **state)
{
    (void)state;
    cleanup_recording struct recording *r = recording_new("opencl", &task);
    int64_t n = 1;
    struct recording_call *call = recording_add_call(r, &n);
    for (int i = 0; i < RECORDING_MAX_NODES; i++)
        assert_non_null(recording_add_node(call, NODE_EMPTY));
    assert_null(recording_add_node(call, NODE_EMPTY));
    for (int i = 0; i < RECORDING_MAX_BUFFERS; i++)
        assert_non_null(recording_add_buffer(call, 1));
    assert_null(recording_add_buffer(call, 1));
    struct recording_node *node = &call->nodes[0];
    for (int i = 0; i < RECORDING_MAX_ARGS; i++)
        assert_non_null(recording_add_arg(node, ARG_LOCAL));
    assert_null(recording_add_arg(node, ARG_LOCAL));
    for (uint32_t i = 0; i < RECORDING_MAX_EDGES; i++)
        assert_int_equal(recording_add_edge(call, i % 100, 100 + i % 1000), 0);
    assert_int_equal(recording_add_edge(call, 0, 1), -1);
    for (int i = 1; i < RECORDING_MAX_CALLS; i++)
        assert_non_null(recording_add_call(r, &n));
    assert_null(recording_add_call(r, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_and_parsing_give_the_same_bytes),
        cmocka_unit_test(merging_shares_images_and_keeps_calls),
        cmocka_unit_test(a_part_names_what_was_handed_over),
        cmocka_unit_test(a_part_is_completed_from_elsewhere),
        cmocka_unit_test(what_was_never_handed_over_is_refused),
        cmocka_unit_test(a_named_hash_has_all_its_digits),
        cmocka_unit_test(copies_and_fills_are_work),
        cmocka_unit_test(no_cut_passes),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
