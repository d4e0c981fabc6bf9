#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/task/set.h"
#include "sample_task.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

static void test_everything_is_read(void **state)
{
    (void)state;
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    if (parse(good, &task, &err))
        fail_msg("%s", err.message);
    assert_string_equal(task->name, "sample");
    assert_string_equal(task->title, "A sample");
    assert_string_equal(task->entry, "run_it");
    assert_string_equal(task->text, good);
    assert_string_equal(task->statement, "");
    assert_string_equal(task->hash, "");
    assert_null(task_file(task, "reference.c"));
    assert_int_equal(task->n_params, 7);
    assert_int_equal(task->n_dims, 2);

    const struct param *x = &task->params[0], *p = &task->params[1], *y = &task->params[2];
    assert_string_equal(x->name, "x");
    assert_int_equal(x->kind, PARAM_IN);
    assert_int_equal(x->dtype, DTYPE_F16);
    assert_int_equal(x->rank, 2);
    assert_string_equal(expr_text(x->shape[1]), "k + 1");
    assert_int_equal(x->values.kind, DISTRIBUTION_NORMAL);
    assert_true(x->values.scale == 2 && x->values.offset == 0.5);
    assert_int_equal(p->kind, PARAM_INOUT);
    assert_int_equal(p->values.kind, DISTRIBUTION_INTEGER);
    assert_true(p->values.low == -5 && p->values.high == 100 && p->values.scale == 1);
    assert_int_equal(y->kind, PARAM_OUT);
    assert_int_equal(y->rank, 0);
    assert_int_equal(task->params[3].kind, PARAM_DIM);
    assert_int_equal(task->params[3].dtype, DTYPE_I64);
    assert_int_equal(task->params[4].kind, PARAM_SCALAR);
    assert_true(task->params[4].scalar == (double)0.1f);
    assert_int_equal(task->params[6].kind, PARAM_STREAM);

    assert_int_equal(task->n_cases, 3);
    assert_int_equal(task->cases[0].kind, CASE_CORRECTNESS);
    assert_true(task->cases[0].dims[0] == 3 && task->cases[0].dims[1] == 4);
    assert_string_equal(task->cases[0].devices, "");
    assert_string_equal(task->cases[1].devices, "cuda");
    assert_int_equal(task->cases[2].kind, CASE_BENCHMARK);
    assert_int_equal(task->n_hidden, 1);
    assert_int_equal(task->hidden[0].count, 5);
    assert_true(task->hidden[0].low[0] == 1 && task->hidden[0].high[1] == 90);
    assert_true(task->hidden[0].multiple[0] == 1 && task->hidden[0].multiple[1] == 8);

    const struct tolerance *tolerance = task_tolerance(task, DTYPE_F32);
    assert_non_null(tolerance);
    assert_true(tolerance->absolute == 1e-6 && tolerance->relative == 1e-5 &&
                tolerance->norm == 1e-7);
    assert_null(task_tolerance(task, DTYPE_I8));
    assert_int_equal(task->workspace_bytes, 4096);
    assert_string_equal(task->devices, "cuda opencl");

    struct expr_scope scope = task_scope(task, task->cases[0].dims);
    int64_t bytes, operations;
    assert_int_equal(expr_eval(task->roofline_bytes, &scope, &bytes, NULL), 0);
    assert_int_equal(expr_eval(task->roofline_operations, &scope, &operations, NULL), 0);
    assert_true(bytes == 34 && operations == 12);
    json_auto_t *dims = task_dims_json(task, task->cases[0].dims);
    json_auto_t *expected = json_pack("{s:i, s:i}", "n", 3, "k", 4);
    assert_true(json_equal(dims, expected));
}

static void test_device_lists(void **state)
{
    (void)state;
    assert_true(task_devices_include("", "cuda"));
    assert_true(task_devices_include("cuda opencl", "cuda"));
    assert_true(task_devices_include("cuda opencl", "opencl"));
    assert_false(task_devices_include("cuda opencl", "open"));
    assert_false(task_devices_include("cuda opencl", "cuda opencl"));
    assert_false(task_devices_include("cuda", "hip"));
}

static void test_layout(void **state)
{
    (void)state;
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    assert_int_equal(parse(good, &task, &err), 0);
    /* Bytes of x are 2 n (k + 1), of p k, of y 4. */
    static const struct {
        int64_t dims[2];
        uint64_t offsets[3], canaries[3], bytes;
    } cases[] = {
        {{3, 4}, {0, 8192, 16384}, {4066, 4092, 4092}, 24576},
        {{0, 0}, {0, 8192, 16384}, {4096, 4096, 4092}, 24576},
        {{2016, 0}, {0, 8192, 16384}, {64, 4096, 4092}, 24576},    /* exactly the least canary */
        {{2017, 0}, {0, 12288, 20480}, {4158, 4096, 4092}, 28672}, /* one element more */
        {{2048, 4096}, {0, 16789504, 16801792}, {4096, 4096, 4092}, 16809984},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct layout layout;
        assert_int_equal(task_layout(task, cases[i].dims, &layout, &err), 0);
        assert_int_equal(layout.n_buffers, 3);
        assert_int_equal(layout.bytes, cases[i].bytes);
        for (size_t b = 0; b < 3; b++) {
            const struct layout_buffer *buffer = &layout.buffers[b];
            assert_int_equal(buffer->param, b);
            assert_int_equal(buffer->offset, cases[i].offsets[b]);
            assert_int_equal(buffer->canary, cases[i].canaries[b]);
            assert_int_equal(buffer->bytes, buffer->count * dtype_size(task->params[b].dtype));
        }
    }

    static const struct {
        int64_t dims[2];
        const char *message;
    } bad[] = {
        {{1, -2}, "Shape of x, axis 1: \"k + 1\" is -1, which is negative."},
        {{1ll << 40, (1ll << 40)}, "The number of elements of x does not fit in 64 bits."},
        {{1ll << 36, 0}, "The buffer x would be larger than 68719476736 bytes."},
        {{1, INT64_MAX}, "Shape of x, axis 1: The expression \"k + 1\" overflows 64 bits."},
        {{1ll << 34, 0}, NULL},
        {{1ll << 30, 15}, NULL},
        {{(1ll << 35) - 64, 0}, "The buffers of the case have 687194"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct layout layout = {.bytes = 1};
        err = (kgrade_error){.message = ""};
        int result = task_layout(task, bad[i].dims, &layout, &err);
        if (!bad[i].message) {
            assert_int_equal(result, 0);
            continue;
        }
        assert_int_equal(result, -1);
        assert_int_equal(layout.bytes, 1);
        assert_string_equal(err.code, "case_invalid");
        if (!strstr(err.message, bad[i].message))
            fail_msg("%zu: %s", i, err.message);
    }
}

static void test_hidden_cases(void **state)
{
    (void)state;
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    assert_int_equal(parse(good, &task, &err), 0);
    const struct hidden_range *range = &task->hidden[0];
    unsigned at_low = 0, at_high = 0, odd = 0, differing_first = 0;
    int64_t first_n = -1;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct task_case cases[TASK_MAX_CASES], again[TASK_MAX_CASES];
        size_t n = task_draw_hidden(task, "cuda", seed, cases);
        assert_int_equal(n, 5);
        assert_int_equal(task_draw_hidden(task, "cuda", seed, again), 5);
        assert_memory_equal(cases, again, n * sizeof *cases);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(cases[i].kind, CASE_HIDDEN);
            for (size_t d = 0; d < 2; d++) {
                int64_t value = cases[i].dims[d];
                assert_true(value >= range->low[d] && value <= range->high[d]);
                assert_int_equal(value % range->multiple[d], 0);
            }
            for (size_t j = 0; j < i; j++)
                assert_memory_not_equal(cases[i].dims, cases[j].dims, 2 * sizeof(int64_t));
            at_low += cases[i].dims[0] == 1;
            at_high += cases[i].dims[0] == 40;
            odd += cases[i].dims[0] % 2 != 0;
        }
        differing_first += first_n >= 0 && cases[0].dims[0] != first_n;
        first_n = cases[0].dims[0];
    }
    /* Ends and odd sizes come up more often than the 2500/40 and 2500/2 of an even draw. */
    assert_true(at_low > 100 && at_high > 100 && odd > 1300);
    assert_true(differing_first > 400);
}

static void test_integers_reach_down_to_the_least(void **state)
{
    (void)state;
    cleanup_free char *text = changed("\"low\": -5", "\"low\": -128"); /* of an i8 */
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    if (parse(text, &task, &err))
        fail_msg("%s", err.message);
    assert_int_equal(task->params[1].values.low, -128);
}

static void test_hidden_cases_use_up_a_small_range(void **state)
{
    (void)state;
    cleanup_free char *text = sized(2, 1, 1, 20);
    char *range = strstr(text, "[0, 99]");
    assert_non_null(range);
    memcpy(range, "[0,  9]", 7);
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    assert_int_equal(parse(text, &task, &err), 0);
    struct task_case cases[TASK_MAX_CASES];
    bool seen[10] = {false};
    assert_int_equal(task_draw_hidden(task, "cuda", 42, cases), 10);
    for (size_t i = 0; i < 10; i++)
        seen[cases[i].dims[0]] = true;
    for (size_t i = 0; i < 10; i++)
        assert_true(seen[i]);
}

static void test_hidden_cases_are_for_their_device(void **state)
{
    (void)state;
    cleanup_free char *text =
        changed("\"count\": 5, ", "\"count\": 5, \"devices\": [\"opencl\"], ");
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    assert_int_equal(parse(text, &task, &err), 0);
    struct task_case cases[TASK_MAX_CASES];
    assert_int_equal(task_draw_hidden(task, "cuda", 1, cases), 0);
    assert_int_equal(task_draw_hidden(task, "opencl", 1, cases), 5);
    assert_string_equal(cases[0].devices, "opencl");
}

static void test_hidden_cases_with_other_values(void **state)
{
    (void)state;
    cleanup_free char *text =
        changed("\"multiple_of\": {\"k\": 8}",
                "\"other_values\": {\"x\": {\"distribution\": \"uniform\", \"scale\": 4}}");
    cleanup_task struct task *task = NULL;
    kgrade_error err = {.message = ""};
    if (parse(text, &task, &err))
        fail_msg("%s", err.message);
    struct task_case cases[TASK_MAX_CASES];
    assert_int_equal(task_draw_hidden(task, "cuda", 1, cases), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(cases[i].values, 1);
    assert_int_equal(task->cases[0].values, 0);

    struct layout layout;
    assert_int_equal(task_layout(task, cases[0].dims, &layout, &err), 0);
    assert_int_equal(task_draw_from(task, 0, &layout, &err), 0);
    assert_int_equal(layout.buffers[0].values.kind, DISTRIBUTION_NORMAL);
    assert_true(layout.buffers[0].values.scale == 2 && layout.buffers[0].values.offset == 0.5);
    assert_int_equal(task_draw_from(task, 1, &layout, &err), 0);
    assert_int_equal(layout.buffers[0].values.kind, DISTRIBUTION_UNIFORM);
    /* Nothing is left of the parameter's own, and what is not named stays. */
    assert_true(layout.buffers[0].values.scale == 4 && layout.buffers[0].values.offset == 0);
    assert_int_equal(layout.buffers[1].values.kind, DISTRIBUTION_INTEGER);
    assert_true(layout.buffers[1].values.low == -5 && layout.buffers[1].values.high == 100);
    assert_int_equal(task_draw_from(task, 2, &layout, &err), -1);
    assert_string_equal(err.code, "case_invalid");
    assert_int_equal(task_draw_from(task, SIZE_MAX, &layout, &err), -1);
}

/* Folders. */

struct folder {
    char path[64];
};

static void write_file(const struct folder *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
}

static void remove_file(const struct folder *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    char parent[] = "/tmp/test_task.XXXXXX";
    if (!folder || !mkdtemp(parent))
        return -1;
    snprintf(folder->path, sizeof folder->path, "%s/sample", parent);
    if (io_make_dirs(folder->path, NULL))
        return -1;
    write_file(folder, "task.json", good);
    write_file(folder, "statement.md", "# Sample\n");
    write_file(folder, "reference.c", "void reference(void) {}\n");
    write_file(folder, "baseline.opencl.c", "opencl\n");
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    *strrchr(folder->path, '/') = 0;
    io_remove_tree(folder->path, NULL);
    free(folder);
    return 0;
}

static void load_hash(const struct folder *folder, char ret[65])
{
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    if (task_load(folder->path, &task, &err))
        fail_msg("%s", err.message);
    memcpy(ret, task->hash, 65);
}

static void test_loading_a_folder(void **state)
{
    const struct folder *folder = *state;
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    char slashes[80];
    snprintf(slashes, sizeof slashes, "%s//", folder->path);
    if (task_load(slashes, &task, &err))
        fail_msg("%s", err.message);
    const struct bytes *reference = task_file(task, "reference.c");
    assert_non_null(reference);
    assert_string_equal((const char *)reference->data, "void reference(void) {}\n");
    assert_null(task_file(task, "baseline.cu"));
    assert_string_equal(task->statement, "# Sample\n");
    assert_int_equal(strlen(task->hash), 64);
}

static void test_the_hash_covers_every_file(void **state)
{
    const struct folder *folder = *state;
    static const struct {
        const char *name, *before, *after;
    } files[] = {
        {"statement.md", "# Sample\n", "# Sample \n"},
        {"reference.c", "void reference(void) {}\n", "void reference(void){}\n"},
        {"baseline.opencl.c", "opencl\n", "opencl2\n"},
    };
    char original[65], other[65];
    load_hash(folder, original);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(folder, files[i].name, files[i].after);
        load_hash(folder, other);
        assert_string_not_equal(original, other);
        write_file(folder, files[i].name, files[i].before);
        load_hash(folder, other);
        assert_string_equal(original, other);
    }
    cleanup_free char *json = changed("A sample", "B sample");
    write_file(folder, "task.json", json);
    load_hash(folder, other);
    assert_string_not_equal(original, other);
    write_file(folder, "task.json", good);

    write_file(folder, "baseline.cuda.cu", "cuda\n");
    load_hash(folder, other);
    assert_string_not_equal(original, other);
    remove_file(folder, "baseline.cuda.cu");
    write_file(folder, "reference.cuda.cu", "cuda\n");
    load_hash(folder, other);
    assert_string_not_equal(original, other);
    remove_file(folder, "reference.cuda.cu");
    /* What an editor leaves behind is no baseline. */
    write_file(folder, "baseline.opencl.c~", "old\n");
    write_file(folder, "reference.c~", "old\n");
    write_file(folder, "notes.txt", "notes\n");
    load_hash(folder, other);
    assert_string_equal(original, other);
    remove_file(folder, "baseline.opencl.c~");
    remove_file(folder, "reference.c~");
    remove_file(folder, "notes.txt");
}

static void assert_load_fails(const struct folder *folder, const char *code, const char *message)
{
    struct task *task = NULL;
    kgrade_error err = {.message = ""};
    assert_int_equal(task_load(folder->path, &task, &err), -1);
    assert_null(task);
    assert_string_equal(err.code, code);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    assert_true(err.hint[0] != 0);
}

static void test_folders_with_mistakes(void **state)
{
    struct folder *folder = *state;
    static const char *const needed[] = {"task.json", "statement.md", "reference.c"};
    for (size_t i = 0; i < 3; i++) {
        char away[80], name[128];
        snprintf(name, sizeof name, "%s/%s", folder->path, needed[i]);
        snprintf(away, sizeof away, "%s/away", folder->path);
        assert_int_equal(rename(name, away), 0);
        assert_load_fails(folder, "task_invalid", needed[i]);
        assert_int_equal(rename(away, name), 0);
    }
    write_file(folder, "statement.md", "\xff");
    assert_load_fails(folder, "task_invalid", "statement.md is not UTF-8 text.");
    write_file(folder, "statement.md", "# Sample\n");

    cleanup_free char *json = changed("\"sample\"", "\"other\"");
    write_file(folder, "task.json", json);
    assert_load_fails(folder, "task_invalid",
                      "$.name: the task is called \"other\" but its folder \"sample\".");
    write_file(folder, "task.json", good);

    for (int i = 0; i < 32; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.x%02d.c", i % 2 ? "baseline" : "reference", i);
        write_file(folder, name, "x");
    }
    assert_load_fails(folder, "task_invalid",
                      "holds 33 baselines and references; at most 32 are allowed.");

    strcat(folder->path, "/none");
    assert_load_fails(folder, "unknown_task", "There is no task folder");
    *strrchr(folder->path, '/') = 0;
}

static void test_built_in_tasks(void **state)
{
    (void)state;
    static const char *const names[] = {"vector_add", "softmax", "matmul"};
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tasks/%s", KGRADE_SOURCE_DIR, names[i]);
        cleanup_task struct task *task = NULL;
        kgrade_error err;
        if (task_load(path, &task, &err))
            fail_msg("%s (%s)", err.message, err.hint);
        static const char *const devices[] = {"opencl", "cuda"};
        for (size_t d = 0; d < 2; d++) {
            unsigned correctness = 0, benchmark = 0;
            for (size_t c = 0; c < task->n_cases; c++) {
                if (!task_devices_include(task->cases[c].devices, devices[d]))
                    continue;
                correctness += task->cases[c].kind == CASE_CORRECTNESS;
                benchmark += task->cases[c].kind == CASE_BENCHMARK;
            }
            struct task_case hidden[TASK_MAX_CASES];
            assert_true(correctness >= 5);
            assert_in_range(benchmark, 2, 3);
            assert_in_range(task_draw_hidden(task, devices[d], 7, hidden), 3, 4);
        }
    }
}

/* A set of the tasks of one or two folders. */
static void test_two_folders(void **state)
{
    const struct folder *folder = *state;
    cleanup_task_set struct task_set *one = NULL, *both = NULL, *twice = NULL;
    cleanup_free char *parent =
        strndup(folder->path, (size_t)(strrchr(folder->path, '/') - folder->path));
    kgrade_error err = {0};
    if (task_set_load(parent, "/nowhere", &one, &err) ||
        task_set_load(KGRADE_SOURCE_DIR "/tasks", parent, &both, &err))
        fail_msg("%s", err.message);
    assert_int_equal(one->n, 1);
    assert_non_null(task_set_find(both, "sample"));
    assert_non_null(task_set_find(both, "matmul"));
    assert_int_equal(task_set_load(parent, parent, &twice, &err), -1);
    assert_string_equal(err.code, "task_twice");
    assert_int_equal(task_set_load("/nowhere", parent, &twice, &err), -1);
    assert_string_equal(err.code, "tasks_unreadable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_device_lists),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_hidden_cases),
        cmocka_unit_test(test_integers_reach_down_to_the_least),
        cmocka_unit_test(test_hidden_cases_use_up_a_small_range),
        cmocka_unit_test(test_hidden_cases_are_for_their_device),
        cmocka_unit_test(test_hidden_cases_with_other_values),
        cmocka_unit_test_setup_teardown(test_loading_a_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_hash_covers_every_file, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_folders_with_mistakes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_two_folders, make_folder, remove_folder),
        cmocka_unit_test(test_built_in_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
