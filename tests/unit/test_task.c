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

#include "grader/task/task.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

/* One of everything; the mistakes below are made by replacing a part of it. */
static const char good[] =
    "{\"name\": \"sample\", \"title\": \"A sample\", \"entry\": \"run_it\",\n"
    " \"parameters\": [\n"
    "  {\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f16\", \"shape\": [\"n\", \"k + 1\"],\n"
    "   \"values\": {\"distribution\": \"normal\", \"scale\": 2, \"offset\": 0.5}},\n"
    "  {\"name\": \"p\", \"kind\": \"inout\", \"dtype\": \"i8\", \"shape\": [\"k\"],\n"
    "   \"values\": {\"distribution\": \"integer\", \"low\": -5, \"high\": 100}},\n"
    "  {\"name\": \"y\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": []},\n"
    "  {\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i64\"},\n"
    "  {\"name\": \"alpha\", \"kind\": \"scalar\", \"dtype\": \"f32\", \"value\": 0.1},\n"
    "  {\"name\": \"k\", \"kind\": \"dim\", \"dtype\": \"i32\"},\n"
    "  {\"name\": \"q\", \"kind\": \"stream\"}],\n"
    " \"cases\": {\n"
    "  \"correctness\": [{\"n\": 3, \"k\": 4}, {\"n\": 5, \"k\": 0, \"devices\": [\"cuda\"]}],\n"
    "  \"benchmark\": [{\"n\": 100, \"k\": 200}],\n"
    "  \"hidden\": [{\"count\": 5, \"n\": [1, 40], \"k\": [10, 90], \"multiple_of\": {\"k\": "
    "8}}]},\n"
    " \"tolerance\": {\"f32\": {\"absolute\": 1e-6, \"relative\": 1e-5, \"norm\": 1e-7, "
    "\"why\": \"because\"}},\n"
    " \"roofline\": {\"bytes\": \"2*n*(k+1) + 4\", \"operations\": \"n*k\"},\n"
    " \"workspace_bytes\": 4096, \"devices\": [\"cuda\", \"opencl\"]}\n";

static int parse(const char *text, struct task **ret, kgrade_error *err)
{
    return task_parse(text, strlen(text), "folder/task.json", ret, err);
}

/* The good text with the first occurrence of `from` replaced.  Caller frees. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    char *text;
    assert_non_null(at);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from)) >= 0);
    return text;
}

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
    assert_null(task->folder);
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

struct mistake {
    const char *from, *to;
    const char *message; /* part of the message, which must also begin with the file's name */
};

static const struct mistake mistakes[] = {
    /* JSON */
    {"\"entry\"", "entry", "line 1, column"},
    {"{\"name\": \"sample\",", "{\"name\": \"sample\", \"name\": \"other\",", "line 1, column"},
    {"  \"benchmark\"", "  \"benchmark\": [], \"benchmark\"", "line 14, column"},
    {"\"title\": \"A sample\"", "\"title\": \"\\u0000\"", "line 1, column"},
    {"4096", "99999999999999999999", "line 18, column"},
    {good, "[]", "$: an object is expected here, not an array."},
    {good, "", "line 1, column"},
    /* unknown and missing keys */
    {"\"title\"", "\"titel\"",
     "$: the key \"titel\" is not allowed here; allowed are: name, title,"},
    {"\"title\": \"A sample\",", "", "$: the key \"title\" is missing."},
    {"\"entry\": \"run_it\",", "", "$: the key \"entry\" is missing."},
    {"\"kind\": \"in\",", "", "$.parameters[0]: the key \"kind\" is missing."},
    {"\"shape\": [\"k\"],", "", "$.parameters[1]: the key \"shape\" is missing."},
    {"\"shape\": [\"k\"],\n   \"values\"", "\"shape\": [\"k\"], \"vals\"",
     "$.parameters[1]: the key \"vals\" is not allowed here"},
    {", \"value\": 0.1", "", "$.parameters[4]: the key \"value\" is missing."},
    {"\"low\": -5, ", "", "$.parameters[1].values: the key \"low\" is missing."},
    {"\"distribution\": \"normal\", ", "", "$.parameters[0].values: the key \"distribution\""},
    {"\"scale\": 2", "\"low\": 2", "$.parameters[0].values: the key \"low\" is not allowed here"},
    {"{\"n\": 3, \"k\": 4}", "{\"n\": 3}", "$.cases.correctness[0]: the key \"k\" is missing."},
    {"{\"n\": 3, \"k\": 4}", "{\"n\": 3, \"k\": 4, \"m\": 1}",
     "$.cases.correctness[0]: the key \"m\" is not allowed here; allowed are: n, k, devices."},
    {"\"count\": 5, ", "", "$.cases.hidden[0]: the key \"count\" is missing."},
    {"\"norm\": 1e-7, ", "", "$.tolerance.f32: the key \"norm\" is missing."},
    {"\"operations\": \"n*k\"", "\"ops\": \"n*k\"", "$.roofline: the key \"ops\""},
    {"\"shape\": []}", "\"shape\": [], \"values\": {\"distribution\": \"uniform\"}}",
     "$.parameters[2]: the key \"values\" is not allowed here"},
    {"\"kind\": \"stream\"", "\"kind\": \"stream\", \"dtype\": \"i32\"",
     "$.parameters[6]: the key \"dtype\" is not allowed here; allowed are: name, kind."},
    {"\"title\"",
     "\"\u00fcberaus lang und unbekannt, damit abgeschnitten wird: "
     "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\"",
     "is not allowed here"},
    /* types */
    {"\"A sample\"", "7", "$.title: a string is expected here, not an integer."},
    {"\"parameters\": [", "\"parameters\": {}, \"x\": [", "$: the key \"x\""},
    {"\"workspace_bytes\": 4096", "\"workspace_bytes\": 4096.5",
     "$.workspace_bytes: an integer is expected here, not a number with a fraction."},
    {"\"n\": 3,", "\"n\": \"3\",", "$.cases.correctness[0].n: an integer is expected here"},
    {"\"n\": [1, 40]", "\"n\": 40", "$.cases.hidden[0].n: an array is expected here"},
    {"\"n\": [1, 40]", "\"n\": [1]", "$.cases.hidden[0].n: 2 to 2 elements are expected"},
    {"\"n\": [1, 40]", "\"n\": [1, true]", "$.cases.hidden[0].n: an integer is expected here"},
    {"[\"k\"]", "[16]", "$.parameters[1].shape[0]: an extent is an expression in a string."},
    {"\"value\": 0.1", "\"value\": null", "$.parameters[4].value: a number is expected here"},
    {"\"devices\": [\"cuda\"]", "\"devices\": \"cuda\"",
     "$.cases.correctness[1].devices: an array is expected here"},
    {"{\"n\": 100, \"k\": 200}", "100", "$.cases.benchmark[0]: an object is expected here"},
    {"{\"name\": \"q\", \"kind\": \"stream\"}", "null", "$.parameters[6]: an object is expected"},
    /* names */
    {"\"sample\"", "\"Sample\"", "$.name: \"Sample\" cannot name a task."},
    {"\"sample\"", "\"\"", "$.name: a text of 1 to 64 bytes is expected; this one has 0."},
    {"\"sample\"", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
     "$.name: a text of 1 to 64 bytes is expected; this one has 65."},
    {"\"run_it\"", "\"run-it\"", "$.entry: \"run-it\" cannot be the name"},
    {"\"run_it\"", "\"_run\"", "$.entry: \"_run\" cannot be the name"},
    {"\"run_it\"", "\"2run\"", "$.entry: \"2run\" cannot be the name"},
    {"\"name\": \"x\"", "\"name\": \"int\"", "$.parameters[0].name: \"int\" cannot be the name"},
    {"\"name\": \"x\"", "\"name\": \"kernel\"", "$.parameters[0].name: \"kernel\" cannot be"},
    {"\"name\": \"x\"", "\"name\": \"devices\"", "$.parameters[0].name: \"devices\" cannot be"},
    {"\"name\": \"p\"", "\"name\": \"x\"", "$.parameters[1]: the name \"x\" is already taken."},
    {"\"name\": \"p\"", "\"name\": \"run_it\"", "$.parameters[1]: the name \"run_it\" is already"},
    {"A sample", "A\\nsample", "$.title: the title holds a control character."},
    /* kinds and dtypes */
    {"\"kind\": \"in\"", "\"kind\": \"input\"", "$.parameters[0].kind: \"input\" is no kind."},
    {"\"f16\"", "\"half\"", "$.parameters[0].dtype: \"half\" is no dtype."},
    {"\"dtype\": \"i64\"", "\"dtype\": \"u8\"", "$.parameters[3].dtype: a dim cannot be u8."},
    {"\"dtype\": \"f32\", \"value\"", "\"dtype\": \"f16\", \"value\"",
     "$.parameters[4].dtype: a scalar cannot be f16."},
    {"\"dtype\": \"f32\", \"value\"", "\"dtype\": \"i32\", \"value\"",
     "$.parameters[4].value: 0.1 is not an integer."},
    {"\"value\": 0.1", "\"value\": 1e39", "$.parameters[4].value: 1e+39 is outside"},
    /* distributions */
    {"\"normal\"", "\"gauss\"", "$.parameters[0].values.distribution: \"gauss\" is no"},
    {"\"scale\": 2", "\"scale\": 0", "$.parameters[0].values: a scale of 0"},
    {"\"scale\": 2", "\"scale\": 14000", "do not fit in f16"},
    {"\"high\": 100", "\"high\": 128", "$.parameters[1].values: values from -5 to 128 do not fit"},
    {"\"high\": 100", "\"high\": -6", "$.parameters[1].values.high: -6 is outside -5.."},
    {"\"low\": -5", "\"low\": -9007199254740993", "$.parameters[1].values.low:"},
    /* shapes */
    {"k + 1", "k + ", "$.parameters[0].shape[1]: In the expression \"k + \", at column 5"},
    {"k + 1", "kk + 1", "$.parameters[0].shape[1]: the expression \"kk + 1\" uses \"kk\""},
    {"k + 1", "alpha", "$.parameters[0].shape[1]: the expression \"alpha\" uses \"alpha\""},
    {"k + 1", "k - 5", "$.cases.correctness[0]: Shape of x, axis 1: \"k - 5\" is -1"},
    {"k + 1", "9 / (200 - k)", "$.cases.benchmark[0]: Shape of x, axis 1: The expression"},
    {"[\"k\"]", "[\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"]",
     "$.parameters[1].shape: 0 to 6 elements are expected; there are 7."},
    /* parameters as a whole */
    {"\"kind\": \"dim\", \"dtype\": \"i64\"", "\"kind\": \"stream\"",
     "there is more than one stream"},
    /* cases */
    {"\"correctness\": [{\"n\": 3, \"k\": 4}, {\"n\": 5, \"k\": 0, \"devices\": [\"cuda\"]}]",
     "\"correctness\": []", "$.cases.correctness: 1 to 32 elements are expected; there are 0."},
    {"\"benchmark\": [{\"n\": 100, \"k\": 200}],", "",
     "$.cases: the key \"benchmark\" is missing."},
    {"\"n\": 3,", "\"n\": -1,", "$.cases.correctness[0].n: -1 is outside 0..1099511627776."},
    {"\"k\": 4", "\"k\": 2147483648", "$.cases.correctness[0].k: 2147483648 is outside"},
    {"\"n\": 5, \"k\": 0", "\"n\": 3, \"k\": 4", "$.cases.correctness[1]: this case repeats"},
    {"\"n\": 100, \"k\": 200", "\"n\": 1000000000, \"k\": 200",
     "$.cases.benchmark[0]: The buffer x would be larger than 68719476736 bytes."},
    {"\"devices\": [\"cuda\"]}", "\"devices\": [\"hip\"]}",
     "$.cases.correctness[1].devices: the task is not for the device \"hip\"."},
    {"\"devices\": [\"cuda\"]}", "\"devices\": [\"cuda\", \"cuda\"]}",
     "$.cases.correctness[1].devices[1]: \"cuda\" is named twice."},
    {"\"devices\": [\"cuda\"]}", "\"devices\": [\"CUDA 12\"]}",
     "$.cases.correctness[1].devices[0]: the name of a device is expected here."},
    {"{\"n\": 100, \"k\": 200}", "{\"n\": 100, \"k\": 200, \"devices\": [\"cuda\"]}",
     "$.cases: there is no benchmark case for the device \"opencl\"."},
    /* hidden cases */
    {"\"count\": 5", "\"count\": 33", "$.cases.hidden[0].count: 33 is outside 1..32."},
    {"[10, 90]", "[90, 10]", "$.cases.hidden[0].k: 10 is outside 90.."},
    {"[10, 90]", "[10, 15]", "$.cases.hidden[0].k: no multiple of 8 lies in 10..15."},
    {"\"multiple_of\": {\"k\": 8}", "\"multiple_of\": {\"k\": 0}",
     "$.cases.hidden[0].multiple_of.k: 0 is outside 1..2147483647."},
    {"\"multiple_of\": {\"k\": 8}", "\"multiple_of\": {\"x\": 8}",
     "$.cases.hidden[0].multiple_of: the key \"x\" is not allowed here; allowed are: n, k."},
    {"\"n\": [1, 40]", "\"n\": [1, 1000000000]", "$.cases.hidden[0]: The buffer x would be"},
    /* tolerance */
    {"\"tolerance\": {\"f32\": ", "\"tolerance\": {\"f64\": ",
     "$.tolerance: the key \"f64\" is not allowed here; allowed are: f32, i8."},
    {"{\"f32\": {\"absolute\": 1e-6, \"relative\": 1e-5, \"norm\": 1e-7, \"why\": \"because\"}}",
     "{}", "$.tolerance: an output is f32, for which there is no tolerance."},
    {"\"relative\": 1e-5", "\"relative\": 2", "$.tolerance.f32.relative: 2 is outside 0..1."},
    {"\"absolute\": 1e-6", "\"absolute\": -1", "$.tolerance.f32.absolute: -1 is outside"},
    /* roofline */
    {"n*k", "n*q", "$.roofline.operations: the expression \"n*q\" uses \"q\", which is not a dim."},
    {"n*k", "n*", "$.roofline.operations: In the expression \"n*\", at column 3"},
    {"2*n*(k+1) + 4", "0*n", "$.cases.benchmark[0]: Roofline: 0 bytes"},
    {"n*k", "n*k - 99", "$.cases.correctness[0]: Roofline: 34 bytes and -87 operations"},
    {"n*k", "n / k", "$.cases.correctness[1]: Roofline: The expression \"n / k\" divides by zero."},
    {"\"workspace_bytes\": 4096", "\"workspace_bytes\": 68719476737", "$.workspace_bytes:"},
};

static void test_every_mistake_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *mistake = &mistakes[i];
        cleanup_free char *text = changed(mistake->from, mistake->to);
        struct task *task = (struct task *)&i;
        kgrade_error err = {.message = ""};
        if (parse(text, &task, &err) == 0)
            fail_msg("accepted: %s -> %s", mistake->from, mistake->to);
        assert_ptr_equal(task, &i); /* untouched */
        assert_string_equal(err.code, "task_invalid");
        assert_true(err.hint[0] != 0);
        assert_int_equal(strncmp(err.message, "folder/task.json: ", 18), 0);
        if (!strstr(err.message, mistake->message))
            fail_msg("%s -> %s gives: %s", mistake->from, mistake->to, err.message);
        json_auto_t *valid = json_string(err.message);
        assert_non_null(valid); /* UTF-8 all the same */
    }
}

static void test_something_must_be_written(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"a\", \"title\": \"a\", \"entry\": \"a\", \"parameters\": [{\"name\": \"n\", "
        "\"kind\": \"dim\", \"dtype\": \"i32\"}]}";
    struct task *task;
    kgrade_error err;
    assert_int_equal(parse(text, &task, &err), -1);
    assert_non_null(strstr(err.message, "$.parameters: nothing is written"));
}

/* A text with n parameters, n_cases correctness cases and n_ranges hidden ranges of `count` cases.
 */
static char *sized(size_t n_params, size_t n_cases, size_t n_ranges, int count)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "{\"name\": \"a\", \"title\": \"a\", \"entry\": \"a\", \"parameters\": ["
                 "{\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i32\"}");
    for (size_t i = 1; i < n_params; i++)
        fprintf(out, ", {\"name\": \"y%zu\", \"kind\": \"out\", \"dtype\": \"i8\", \"shape\": []}",
                i);
    fprintf(out, "], \"roofline\": {\"bytes\": \"1\", \"operations\": \"1\"}, \"cases\": {"
                 "\"benchmark\": [{\"n\": 1}], \"correctness\": [");
    for (size_t i = 0; i < n_cases; i++)
        fprintf(out, "%s{\"n\": %zu}", i ? ", " : "", i);
    fprintf(out, "], \"hidden\": [");
    for (size_t i = 0; i < n_ranges; i++)
        fprintf(out, "%s{\"n\": [0, 99], \"count\": %d}", i ? ", " : "", count);
    fprintf(out, "]}}");
    fclose(out);
    return text;
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        size_t n_params, n_cases, n_ranges;
        int count;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {TASK_MAX_PARAMS, TASK_MAX_CASES - 1, TASK_MAX_HIDDEN_RANGES, 8, NULL},
        {TASK_MAX_PARAMS + 1, 1, 0, 0,
         "$.parameters: 1 to 24 elements are expected; there are 25."},
        {2, TASK_MAX_CASES, 0, 0, "$.cases.benchmark: 1 to 0 elements are expected"},
        {2, TASK_MAX_CASES + 1, 0, 0, "$.cases.correctness: 1 to 32 elements are expected"},
        {2, 1, TASK_MAX_HIDDEN_RANGES + 1, 1, "$.cases.hidden: 0 to 4 elements are expected"},
        {2, 1, TASK_MAX_HIDDEN_RANGES, 9, "$.cases.hidden: 36 hidden cases are asked for"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *text =
            sized(cases[i].n_params, cases[i].n_cases, cases[i].n_ranges, cases[i].count);
        cleanup_task struct task *task = NULL;
        kgrade_error err = {.message = ""};
        int result = parse(text, &task, &err);
        if (cases[i].message ? !strstr(err.message, cases[i].message) : result != 0)
            fail_msg("%zu: %s", i, err.message);
    }
    cleanup_free char *large = calloc(1, TASK_MAX_FILE_BYTES + 2);
    assert_non_null(large);
    memset(large, ' ', TASK_MAX_FILE_BYTES + 1);
    memcpy(large, good, strlen(good));
    cleanup_task struct task *task = NULL;
    kgrade_error err;
    assert_int_equal(task_parse(large, TASK_MAX_FILE_BYTES, "file", &task, &err), 0);
    assert_int_equal(task_parse(large, TASK_MAX_FILE_BYTES + 1, "file", &task, &err), -1);
    assert_non_null(strstr(err.message, "262145 bytes; at most 262144"));
}

static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    cleanup_free char *text = malloc(2 * DEPTH + 1);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[2 * DEPTH] = 0;
    struct task *task;
    kgrade_error err;
    assert_int_equal(parse(text, &task, &err), -1);
    assert_string_equal(err.code, "task_invalid");
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
    assert_string_equal(task->folder, folder->path);
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
    /* What an editor leaves behind is no baseline. */
    write_file(folder, "baseline.opencl.c~", "old\n");
    write_file(folder, "notes.txt", "notes\n");
    load_hash(folder, other);
    assert_string_equal(original, other);
    remove_file(folder, "baseline.opencl.c~");
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

    for (int i = 0; i < 16; i++) {
        char name[32];
        snprintf(name, sizeof name, "baseline.x%02d.c", i);
        write_file(folder, name, "x");
    }
    assert_load_fails(folder, "task_invalid", "holds 17 baselines; at most 16 are allowed.");

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
            assert_int_equal(task_draw_hidden(task, devices[d], 7, hidden), 3);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_every_mistake_is_explained),
        cmocka_unit_test(test_something_must_be_written),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_device_lists),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_hidden_cases),
        cmocka_unit_test(test_hidden_cases_use_up_a_small_range),
        cmocka_unit_test(test_hidden_cases_are_for_their_device),
        cmocka_unit_test_setup_teardown(test_loading_a_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_hash_covers_every_file, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_folders_with_mistakes, make_folder, remove_folder),
        cmocka_unit_test(test_built_in_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
