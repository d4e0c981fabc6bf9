/* Recordings that were changed on their way, given to the HIP replayer's rebuilding, with a library that takes anything. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/hip/rebuild.h"
#include "grader/devices/hip/restore.h"

#define BYTES (4ull << 20)
#define WORKSPACE (2ull << 20)

static struct {
    size_t copies, fills, captured;
    bool capturing, instantiated;
} library;

static const struct arena arena = {
    .address = ARENA_HOME, .bytes = BYTES, .workspace_bytes = WORKSPACE};

/* --- the library --- */

static hip_error begin_capture(hip_stream stream, int mode)
{
    (void)stream, (void)mode;
    library.capturing = true;
    return HIP_SUCCESS;
}

static hip_error is_capturing(hip_stream stream, int *ret)
{
    (void)stream;
    *ret = library.capturing ? HIP_CAPTURE_ACTIVE : HIP_CAPTURE_NONE;
    return HIP_SUCCESS;
}

static hip_error end_capture(hip_stream stream, hip_graph *ret)
{
    (void)stream;
    library.capturing = false;
    *ret = &library;
    return HIP_SUCCESS;
}

/* As the real one: what moves nothing becomes no node. */
static hip_error copy_async(void *to, const void *from, size_t bytes, int kind, hip_stream stream)
{
    (void)to, (void)from, (void)kind, (void)stream;
    library.copies++;
    library.captured += bytes != 0;
    return HIP_SUCCESS;
}

static hip_error fill_async(void *to, int value, size_t bytes, hip_stream stream)
{
    (void)to, (void)value, (void)stream;
    library.fills++;
    library.captured += bytes != 0;
    return HIP_SUCCESS;
}

static hip_error get_nodes(hip_graph graph, hip_node *nodes, size_t *ret)
{
    (void)graph, (void)nodes;
    *ret = library.captured;
    return HIP_SUCCESS;
}

static hip_error instantiate(hip_graph_exec *ret, hip_graph graph, hip_node *node, char *log,
                             size_t size)
{
    (void)graph, (void)node, (void)log, (void)size;
    library.instantiated = true;
    *ret = &library;
    return HIP_SUCCESS;
}

static hip_error destroy(void *handle)
{
    (void)handle;
    return HIP_SUCCESS;
}

static int open_library(void **state)
{
    (void)state;
    hip = (struct runtime){.hipStreamBeginCapture = begin_capture,
                           .hipStreamIsCapturing = is_capturing,
                           .hipStreamEndCapture = end_capture,
                           .hipMemcpyAsync = copy_async,
                           .hipMemsetAsync = fill_async,
                           .hipGraphGetNodes = get_nodes,
                           .hipGraphInstantiate = instantiate,
                           .hipGraphDestroy = destroy,
                           .hipGraphExecDestroy = destroy,
                           .is_open = true};
    return 0;
}

/* --- recordings --- */

/* A copy from the buffers into the workspace, and a fill that waits for it. */
struct made {
    struct recording recording;
    struct recording_edge edge;
    struct recording_node nodes[2];
    struct recording_buffer buffer;
    struct recording_call call;
};

static void make(struct made *m)
{
    library.copies = library.fills = library.captured = 0;
    library.capturing = library.instantiated = false;
    *m = (struct made){.edge = {.from = 0, .to = 1},
                       .nodes = {{.kind = NODE_COPY,
                                  .from_buffer = SIZE_MAX,
                                  .to_buffer = SIZE_MAX,
                                  .from_offset = ARENA_HOME + WORKSPACE,
                                  .to_offset = ARENA_HOME,
                                  .bytes = 64,
                                  .rows = 1},
                                 {.kind = NODE_FILL,
                                  .to_buffer = SIZE_MAX,
                                  .to_offset = ARENA_HOME + BYTES - 64,
                                  .bytes = 64,
                                  .rows = 1,
                                  .pattern = {1},
                                  .pattern_bytes = 1}},
                       .buffer = {.address = ARENA_HOME, .bytes = WORKSPACE}};
    m->call = (struct recording_call){.nodes = m->nodes,
                                      .n_nodes = 2,
                                      .edges = &m->edge,
                                      .n_edges = 1,
                                      .buffers = &m->buffer,
                                      .n_buffers = 1};
}

static int rebuild(const struct made *m, kgrade_error *err)
{
    struct rebuilt rebuilt;
    *err = (kgrade_error){.code = ""};
    int result = rebuild_call(&rebuilt, &m->recording, &m->call, &arena, NULL, err);
    assert_false(library.capturing); /* the stream can be used again */
    if (result == 0)
        rebuilt_close(&rebuilt);
    return result;
}

static void assert_invalid(const struct made *m)
{
    kgrade_error err;
    assert_int_equal(rebuild(m, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
    assert_false(library.instantiated);
}

static void a_good_one_is_rebuilt(void **state)
{
    (void)state;
    struct made m;
    kgrade_error err;
    make(&m);
    assert_int_equal(rebuild(&m, &err), 0);
    assert_true(library.copies == 1 && library.fills == 1 && library.instantiated);
}

static void copies_and_fills_stay_in_the_arena(void **state)
{
    (void)state;
    struct made m;
    uint64_t *const places[] = {&m.nodes[0].from_offset, &m.nodes[0].to_offset,
                                &m.nodes[1].to_offset};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint64_t bad[] = {0, ARENA_HOME - 1, ARENA_HOME + BYTES - 63, ARENA_HOME + BYTES,
                                UINT64_MAX};
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            make(&m);
            *places[i] = bad[k];
            assert_invalid(&m);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        make(&m);
        m.nodes[i].bytes = UINT64_MAX;
        assert_invalid(&m);
        make(&m);
        m.nodes[i].rows = 2;
        assert_invalid(&m);
        make(&m);
        m.nodes[i].to_buffer = 0;
        assert_invalid(&m);
    }
}

/* The library would make no node of them, and then seem to have lost one. */
static void moving_nothing_is_the_recordings_fault(void **state)
{
    (void)state;
    struct made m;
    for (size_t i = 0; i < 2; i++) {
        make(&m);
        m.nodes[i].bytes = 0;
        assert_invalid(&m);
    }
}

static void nodes_that_hip_does_not_make_are_refused(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    m.nodes[1].pattern_bytes = 8;
    assert_invalid(&m);
    make(&m);
    m.nodes[1].pattern_bytes = 4;
    m.nodes[1].to_offset -= 2;
    assert_invalid(&m);
    make(&m);
    m.nodes[0].kind = NODE_EMPTY;
    assert_invalid(&m);
    make(&m);
    struct recording_edge circle[] = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
    m.call.edges = circle;
    m.call.n_edges = 2;
    assert_invalid(&m);
}

static void a_lost_node_is_the_librarys_fault(void **state)
{
    (void)state;
    struct made m;
    kgrade_error err;
    make(&m);
    library.captured = SIZE_MAX; /* one less than was queued */
    assert_int_equal(rebuild(&m, &err), -1);
    assert_string_equal(err.code, "runtime_wrong_graph");
    assert_false(library.instantiated);
}

static void what_is_put_back_lies_in_the_workspace(void **state)
{
    (void)state;
    static const struct {
        uint64_t address, bytes;
        bool good;
    } cases[] = {
        {ARENA_HOME, WORKSPACE, true},        {ARENA_HOME + WORKSPACE, 0, true},
        {ARENA_HOME, WORKSPACE + 1, false},   {ARENA_HOME + WORKSPACE, 64, false}, /* the inputs */
        {ARENA_HOME - 64, 64, false},         {0, 64, false},
        {ARENA_HOME + 64, UINT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rebuilt none = {.images = NULL};
        struct restore restore;
        struct made m;
        kgrade_error err = {.code = ""};
        make(&m);
        m.buffer = (struct recording_buffer){.address = cases[i].address, .bytes = cases[i].bytes};
        int result = restore_open(&restore, &none, &m.recording, &m.call, &arena, &err);
        assert_int_equal(result, cases[i].good ? 0 : -1);
        assert_string_equal(err.code, cases[i].good ? "" : "recording_invalid");
        if (result == 0)
            restore_close(&restore);
    }
}

static void values_need_a_variable(void **state)
{
    (void)state;
    const struct rebuilt none = {.images = NULL};
    struct recording_global global = {.image = 0, .name = (char *)(uintptr_t) "one", .blob = 0};
    struct restore restore;
    struct made m;
    kgrade_error err = {.code = ""};
    make(&m);
    m.call.globals = &global;
    m.call.n_globals = 1;
    assert_int_equal(restore_open(&restore, &none, &m.recording, &m.call, &arena, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_one_is_rebuilt),
        cmocka_unit_test(copies_and_fills_stay_in_the_arena),
        cmocka_unit_test(moving_nothing_is_the_recordings_fault),
        cmocka_unit_test(nodes_that_hip_does_not_make_are_refused),
        cmocka_unit_test(a_lost_node_is_the_librarys_fault),
        cmocka_unit_test(what_is_put_back_lies_in_the_workspace),
        cmocka_unit_test(values_need_a_variable),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
