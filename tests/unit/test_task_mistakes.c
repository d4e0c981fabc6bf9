#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/task/task.h"
#include "sample_task.h"
#include "sandbox/base/cleanup.h"

struct mistake {
    const char *from, *to;
    const char *message; /* part of the message, which must also begin with the file's name */
};

#define LINE_OF_121                                                                                \
    "0123456789012345678901234567890123456789012345678901234567890"                                \
    "012345678901234567890123456789012345678901234567890123456789"

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
    {"\"run_it\"", "\"a234567890123456789012345678901234567890123456789012345678901234\"",
     "$.entry: a text of 1 to 63 bytes is expected; this one has 64."},
    {"A sample", LINE_OF_121, "$.title: a text of 1 to 120 bytes is expected; this one has 121."},
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
    {"\"low\": -5", "\"low\": -129", "$.parameters[1].values: values from -129 to 100 do not fit"},
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
    {"[\"cuda\", \"opencl\"]",
     "[\"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", \"a7\", \"a8\", \"a9\"]",
     "$.devices: 1 to 8 elements are expected; there are 9."},
    {"[\"cuda\", \"opencl\"]",
     "[\"abcdefghijklmn1\", \"abcdefghijklmn2\", \"abcdefghijklmn3\", \"abcdefghijklmn4\", "
     "\"abcdefghijklmn5\"]",
     "$.devices[4]: the list of devices is too long."},
    {"[\"cuda\", \"opencl\"]", "[\"abcdefghijklmnop\"]",
     "$.devices[0]: the name of a device is expected here."},
    /* hidden cases */
    {"\"count\": 5", "\"count\": 33", "$.cases.hidden[0].count: 33 is outside 1..32."},
    {"[10, 90]", "[90, 10]", "$.cases.hidden[0].k: 10 is outside 90.."},
    {"[10, 90]", "[10, 15]", "$.cases.hidden[0].k: no multiple of 8 lies in 10..15."},
    {"\"multiple_of\": {\"k\": 8}", "\"multiple_of\": {\"k\": 0}",
     "$.cases.hidden[0].multiple_of.k: 0 is outside 1..2147483647."},
    {"\"multiple_of\": {\"k\": 8}", "\"multiple_of\": {\"x\": 8}",
     "$.cases.hidden[0].multiple_of: the key \"x\" is not allowed here; allowed are: n, k."},
    {"\"n\": [1, 40]", "\"n\": [1, 1000000000]", "$.cases.hidden[0]: The buffer x would be"},
    {"\"multiple_of\": {\"k\": 8}", "\"other_values\": {}",
     "$.cases.hidden[0].other_values: no input is named here."},
    {"\"multiple_of\": {\"k\": 8}", "\"other_values\": []",
     "$.cases.hidden[0].other_values: an object is expected here"},
    {"\"multiple_of\": {\"k\": 8}", "\"other_values\": {\"y\": {\"distribution\": \"uniform\"}}",
     "$.cases.hidden[0].other_values: the key \"y\" is not allowed here; allowed are: x, p."},
    {"\"multiple_of\": {\"k\": 8}", "\"other_values\": {\"x\": {\"scale\": 2}}",
     "$.cases.hidden[0].other_values.x: the key \"distribution\" is missing."},
    {"\"multiple_of\": {\"k\": 8}",
     "\"other_values\": {\"x\": {\"distribution\": \"uniform\", \"scale\": 1e6}}",
     "$.cases.hidden[0].other_values.x: values from 0 to 1e+06 do not fit in f16"},
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

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        size_t n_params, n_cases, n_ranges;
        int count;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {TASK_MAX_PARAMS, TASK_MAX_CASES - 1, TASK_MAX_HIDDEN_RANGES, 4, NULL},
        {TASK_MAX_PARAMS + 1, 1, 0, 0,
         "$.parameters: 1 to 24 elements are expected; there are 25."},
        {2, TASK_MAX_CASES, 0, 0, "$.cases.benchmark: 1 to 0 elements are expected"},
        {2, TASK_MAX_CASES + 1, 0, 0, "$.cases.correctness: 1 to 32 elements are expected"},
        {2, 1, TASK_MAX_HIDDEN_RANGES + 1, 1, "$.cases.hidden: 0 to 8 elements are expected"},
        {2, 1, TASK_MAX_HIDDEN_RANGES, 5, "$.cases.hidden: 40 hidden cases are asked for"},
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

/* n outputs of different dtypes, each with a tolerance. */
static char *with_tolerances(int n)
{
    enum { ROOM = 8192 };
    char *text = calloc(1, ROOM);
    assert_non_null(text);
    FILE *out = fmemopen(text, ROOM, "w");
    assert_non_null(out);
    fprintf(out, "{\"name\": \"a\", \"title\": \"a\", \"entry\": \"a\", \"parameters\": [");
    for (int i = 0; i < n; i++)
        fprintf(out, "%s{\"name\": \"y%d\", \"kind\": \"out\", \"dtype\": \"%s\", \"shape\": []}",
                i ? ", " : "", i, dtype_name((enum dtype)i));
    fprintf(out, "], \"roofline\": {\"bytes\": \"1\", \"operations\": \"1\"}, \"cases\": {"
                 "\"benchmark\": [{}], \"correctness\": [{}]}, \"tolerance\": {");
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\"%s\": {\"absolute\": 0, \"relative\": 0, \"norm\": 0}", i ? ", " : "",
                dtype_name((enum dtype)i));
    fprintf(out, "}}");
    fclose(out);
    return text;
}

static void test_tolerance_limit(void **state)
{
    (void)state;
    cleanup_free char *most = with_tolerances(TASK_MAX_TOLERANCES);
    cleanup_free char *too_many = with_tolerances(TASK_MAX_TOLERANCES + 1);
    cleanup_task struct task *task = NULL, *none = NULL;
    kgrade_error err;
    if (parse(most, &task, &err))
        fail_msg("%s", err.message);
    assert_int_equal(task->n_tolerances, TASK_MAX_TOLERANCES);
    assert_int_equal(parse(too_many, &none, &err), -1);
    assert_non_null(strstr(err.message, "$.tolerance: more than 8 tolerances."));
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

/* A foreign task, and one thing of it that is wrong at a time. */
static const char foreign[] =
    "{\"name\": \"far\", \"title\": \"Far\", \"entry\": \"custom_kernel\",\n"
    " \"python\": {\"form\": \"data\", \"files\": [\"reference.py\"], \"inputs\": \"make\",\n"
    "  \"reference\": \"answer\", \"seed\": 1, \"double\": true, \"variants\": [\n"
    "  {\"inputs\": {\"n\": 4}, \"data\": {\"buffer\": \"in0\"}, \"outputs\": {\"buffer\": "
    "\"out0\"}}]},\n"
    " \"parameters\": [{\"name\": \"in0\", \"kind\": \"in\", \"dtype\": \"i32\", \"shape\": "
    "[\"4\"]},\n"
    "  {\"name\": \"out0\", \"kind\": \"out\", \"dtype\": \"i32\", \"shape\": [\"4\"]},\n"
    "  {\"name\": \"variant\", \"kind\": \"dim\", \"dtype\": \"i64\"}],\n"
    " \"cases\": {\"correctness\": [{\"variant\": 0}], \"benchmark\": [{\"variant\": 0}]},\n"
    " \"roofline\": {\"bytes\": \"16\", \"operations\": \"0\"}}";

static const struct mistake foreign_mistakes[] = {
    {"\"form\": \"data\"", "\"form\": \"tuple\"", "$.python.form: \"tuple\" is no form."},
    {"\"reference.py\"", "\"../reference.py\"", "$.python.files[0]: this is not the name"},
    {"\"reference.py\"", "\"a.py\", \"a.py\"", "$.python.files[1]: \"a.py\" is named twice."},
    {"\"reference.py\"", "\"kgrade.py\"", "$.python.files[0]: this is not the name"},
    {"\"reference.py\"",
     "\"a.py\", \"b.py\", \"c.py\", \"d.py\", \"e.py\", \"f.py\", \"g.py\", \"h.py\", \"i.py\"",
     "$.python.files: 1 to 8 elements are expected"},
    {"\"inputs\": \"make\",", "", "$.python: the key \"inputs\" is missing."},
    {"\"double\": true", "\"double\": 1", "$.python: \"double\" is not a boolean."},
    {"\"seed\": 1", "\"seed\": -1", "$.python.seed:"},
    {"\"seed\": 1", "\"seed\": 1, \"seeds\": 0", "$.python.seeds:"},
    {"\"data\": {\"buffer\": \"in0\"}", "\"data\": []",
     "$.python.variants[0]: \"data\" is not an object."},
    {"\"outputs\":", "\"output\":", "$.python.variants[0]: the key \"output\" is not allowed"},
    {"\"variant\", \"kind\": \"dim\", \"dtype\": \"i64\"}],\n \"cases\": {\"correctness\": "
     "[{\"variant\": 0}], \"benchmark\": [{\"variant\": 0}]}",
     "\"n\", \"kind\": \"dim\", \"dtype\": \"i64\"}], \"cases\": {\"correctness\": "
     "[{\"n\": 0}], \"benchmark\": [{\"n\": 0}]}",
     "$: the first dim of a foreign task is \"variant\"."},
    {"{\"variant\": 0}]}", "{\"variant\": 1}]}", "a case has variant 1 of 1."},
    {"{\"variant\": 0}]}", "{\"variant\": 0}], \"hidden\": [{\"count\": 1, \"variant\": [0, 0]}]}",
     "$: a foreign task has no hidden ranges."},
    {"\"dtype\": \"i32\", \"shape\": [\"4\"]},\n  {\"name\": \"out0\"",
     "\"dtype\": \"i32\", \"shape\": [\"4\"], \"values\": {\"distribution\": "
     "\"uniform\"}},\n  {\"name\": \"out0\"",
     "$.parameters[0]: the key \"values\" is not allowed here"},
};

static void test_mistakes_in_foreign_tasks(void **state)
{
    (void)state;
    kgrade_error err;
    cleanup_task struct task *right = NULL;
    assert_int_equal(parse(foreign, &right, &err), 0);
    assert_non_null(right->python);
    for (size_t i = 0; i < sizeof foreign_mistakes / sizeof foreign_mistakes[0]; i++) {
        const struct mistake *m = &foreign_mistakes[i];
        cleanup_task struct task *task = NULL;
        cleanup_free char *text = replaced(foreign, m->from, m->to);
        assert_int_equal(parse(text, &task, &err), -1);
        if (!strstr(err.message, m->message))
            fail_msg("mistake %zu: %s", i, err.message);
        assert_true(strlen(err.hint) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes_in_foreign_tasks),
        cmocka_unit_test(test_every_mistake_is_explained),
        cmocka_unit_test(test_something_must_be_written),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_tolerance_limit),
        cmocka_unit_test(test_deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
