/* The formats that adapters read: CSV, YAML, and CUDA sources that export solve(). */
#define _GNU_SOURCE
#include "regrade_help.h"

#include "grader/regrade/csv.h"
#include "grader/regrade/solve.h"
#include "grader/regrade/yaml.h"

/* --- CSV ---------------------------------------------------------------------------------------- */

/* Records as "a=1;b=2;/...", or the code of the error. */
static const char *csv(const char *text)
{
    static char out[1024];
    static kgrade_error err;
    struct regrade_csv csv = {0};
    out[0] = 0;
    if (regrade_csv_open(text, strlen(text), "x.csv", &csv, &err))
        return err.code;
    int rc;
    json_t *record;
    while ((rc = regrade_csv_next(&csv, &record, &err)) > 0) {
        const char *key;
        json_t *value;
        json_object_foreach(record, key, value)
        {
            snprintf(out + strlen(out), sizeof out - strlen(out), "%s=%s;", key,
                     json_string_value(value));
        }
        strcat(out, "/");
        json_decref(record);
    }
    regrade_csv_close(&csv);
    return rc < 0 ? err.code : out;
}

static void test_csv(void **state)
{
    (void)state;
    assert_string_equal(csv("a,b\n1,2\n"), "a=1;b=2;/");
    assert_string_equal(csv("\xef\xbb\xbf"
                            "a,b\r\n1,2"),
                        "a=1;b=2;/");
    assert_string_equal(csv("a,b\n\"x,\"\"y\"\"\nz\",2\n"), "a=x,\"y\"\nz;b=2;/");
    assert_string_equal(csv("a,b\n1\n,2\n\n\n3,4\n"), "a=1;/b=2;/a=3;b=4;/");
    assert_string_equal(csv("a\n"), "");
    assert_string_equal(csv(""), "bad_board");
    assert_string_equal(csv("a,b\n1,2,3\n"), "bad_board");
    kgrade_error err;
    struct regrade_csv lines;
    json_t *record;
    static const char wide[] = "a,b\n1,2\n\n\"x\ny\",2,3\n";
    assert_int_equal(regrade_csv_open(wide, sizeof wide - 1, "x.csv", &lines, &err), 0);
    assert_int_equal(regrade_csv_next(&lines, &record, &err), 1);
    json_decref(record);
    assert_int_equal(regrade_csv_next(&lines, &record, &err), -1);
    assert_non_null(strstr(err.message, "x.csv, line 4: ")); /* where the record begins */
    regrade_csv_close(&lines);
    assert_string_equal(csv("a\n\"open\n"), "bad_board");
    assert_string_equal(csv("a\n\"x\"y\n"), "bad_board");
    assert_string_equal(csv("a\n\xff\n"), "bad_board");
    char many[2 * REGRADE_MAX_COLUMNS + 8];
    memset(many, ',', sizeof many - 1);
    many[sizeof many - 1] = 0;
    assert_string_equal(csv(many), "bad_board");
    many[REGRADE_MAX_COLUMNS - 1] = 0;
    assert_string_equal(csv(many), "");
}

/* --- YAML --------------------------------------------------------------------------------------- */

/* YAML as JSON, or the code of the error. */
static const char *yaml(const char *text)
{
    static char out[1024];
    static kgrade_error err;
    char path[256];
    json_t *json = NULL;
    put("x.yml", text);
    snprintf(path, sizeof path, "%s/x.yml", folder);
    if (regrade_read_yaml(path, &json, &err))
        return err.code;
    char *dumped = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    snprintf(out, sizeof out, "%s", dumped);
    free(dumped);
    json_decref(json);
    return out;
}

static void test_yaml(void **state)
{
    (void)state;
    assert_string_equal(yaml("a: 1\nb: [x, 'y', 2.5, true, null]\nc: {d: \"1\"}\n"),
                        "{\"a\":1,\"b\":[\"x\",\"y\",2.5,true,null],\"c\":{\"d\":\"1\"}}");
    assert_string_equal(yaml("a: |\n  text\n  more\n"), "{\"a\":\"text\\nmore\\n\"}");
    assert_string_equal(yaml("- {k: 1; l}\n"), "[{\"k\":\"1; l\"}]");
    assert_string_equal(yaml("a: !tag b\n"), "{\"a\":\"b\"}");
    static const char *const bad[] = {
        "", "a: [", "a: &x 1\nb: *x\n", "? [a]\n: b\n", "a: 1\na: 2\n", "\t- a", "a: \xff\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_string_equal(yaml(bad[i]), "bad_board");
    char deep[2 * REGRADE_MAX_YAML_DEPTH + 8] = "";
    memset(deep, '[', REGRADE_MAX_YAML_DEPTH);
    memset(deep + REGRADE_MAX_YAML_DEPTH, ']', REGRADE_MAX_YAML_DEPTH);
    assert_int_equal(yaml(deep)[0], '[');
    memset(deep, '[', REGRADE_MAX_YAML_DEPTH + 1);
    memset(deep + REGRADE_MAX_YAML_DEPTH + 1, ']', REGRADE_MAX_YAML_DEPTH + 1);
    assert_string_equal(yaml(deep), "bad_board");
    size_t n = REGRADE_MAX_YAML_NODES;
    char *many = malloc(3 * n + 8);
    strcpy(many, "[");
    for (size_t i = 0; i < n; i++)
        memcpy(many + 1 + 2 * i, "1,", 2);
    strcpy(many + 1 + 2 * n, "]");
    assert_string_equal(yaml(many), "bad_board");
    free(many);
}

/* --- solve() ------------------------------------------------------------------------------------ */

static void assert_signature(const char *source, const char *name, const char *types)
{
    char signature[64] = "";
    const char *found = solve_signature(source, strlen(source), signature, sizeof signature);
    if (!name) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, name);
    assert_string_equal(signature, types);
}

static void test_signatures(void **state)
{
    (void)state;
    assert_signature("extern \"C\" void solve(const float* A, const float *B, float* C, int N) {}",
                     "solve", "f*,f*,f*,i");
    assert_signature(
        "extern \"C\"\nvoid  solution(float const * __restrict__ a,\n float b[], size_t n)\n{",
        "solution", "f*,f*,i");
    assert_signature("void solve(const int* h, int* o, int n, int b) { }", "solve", "i*,i*,i,i");
    assert_signature("void solve(const half* h, float** p, long long* q, double d) { }", "solve",
                     "x*,x*,x*,x");
    assert_signature("// void solve(int n) {}\n/* void solve(int n) {} */ \"void solve(int n) {}\"",
                     NULL, NULL);
    assert_signature("void solve(float* A, int N);\nvoid resolve(int n) {}", NULL, NULL);
    assert_signature("void solve(float* A, int N);\nvoid solve(float* A, int N) {}", "solve",
                     "f*,i");
    assert_signature("int main() { solve(a, b); }", NULL, NULL);
    assert_signature("/*/ void solve(int n) {} /**/ void solve(float* a /* in */) {}", "solve",
                     "f*");
    assert_signature("void solve(", NULL, NULL);
    assert_signature("/*", NULL, NULL);
    assert_signature("\"\\", NULL, NULL);
    assert_signature("", NULL, NULL);
}

static void test_names_of_problems(void **state)
{
    (void)state;
    assert_string_equal(solve_task_of("001_vector_add.cu"), "vector_add");
    assert_string_equal(solve_task_of("3_matrix_transpose"), "transpose");
    assert_string_equal(solve_task_of("Matrix Multiplication.cu"), "matmul");
    assert_string_equal(solve_task_of("PrefixSum.cu"), "prefix_sum");
    assert_string_equal(solve_task_of("matrix-multiply.cpp"), "matmul");
    assert_null(solve_task_of("solution.cu"));
    assert_null(solve_task_of("batched_matmul.cu"));
    assert_null(solve_task_of(""));
}

/* What every wrapper calls has the parameters that it says. */
static void test_wrappers(void **state)
{
    (void)state;
    size_t n;
    const struct solve_problem *problems = solve_problems(&n);
    for (size_t i = 0; i < n; i++) {
        char *source = NULL;
        kgrade_error err = {0};
        must(solve_wrap(&problems[i], "int x;", 6, &source, &err), &err);
        json_t *bundle = json_loads(source, 0, NULL), *files = json_object_get(bundle, "files");
        const char *entry = json_string_value(json_object_get(files, "entry.cu"));
        char wanted[256];
        snprintf(wanted, sizeof wanted, "extern \"C\" void %s(%s, cudaStream_t stream)\n",
                 problems[i].task, problems[i].parameters);
        assert_non_null(strstr(entry, wanted));
        snprintf(wanted, sizeof wanted, "    %s(%s);\n", problems[i].entry, problems[i].arguments);
        assert_non_null(strstr(entry, wanted));
        assert_string_equal(json_string_value(json_object_get(files, "submission.cuh")), "int x;");
        json_decref(bundle);
        free(source);
    }
}

/* The entry point of a task in C, without the stream, by its task.json. */
static void write_parameters(const char *task, char *ret, size_t size)
{
    char path[512];
    json_error_t where;
    size_t i, used = 0;
    json_t *one;
    snprintf(path, sizeof path, "%s/tasks/%s/task.json", KGRADE_SOURCE_DIR, task);
    json_t *json = json_load_file(path, 0, &where);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "entry")), task);
    json_array_foreach(json_object_get(json, "parameters"), i, one)
    {
        const char *kind = json_string_value(json_object_get(one, "kind")),
                   *dtype = json_string_value(json_object_get(one, "dtype"));
        if (!strcmp(kind, "stream"))
            continue;
        bool in = !strcmp(kind, "in");
        used += (size_t)snprintf(ret + used, size - used, "%s%s%s %s%s", used ? ", " : "",
                                 in ? "const " : "", strcmp(dtype, "f32") ? "int" : "float",
                                 in || !strcmp(kind, "out") ? "*" : "",
                                 json_string_value(json_object_get(one, "name")));
    }
    json_decref(json);
}

static void test_parameters_are_the_tasks(void **state)
{
    (void)state;
    size_t n;
    const struct solve_problem *problems = solve_problems(&n);
    for (size_t i = 0; i < n; i++) {
        char parameters[256] = "";
        write_parameters(problems[i].task, parameters, sizeof parameters);
        assert_string_equal(problems[i].parameters, parameters);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test_setup_teardown(test_yaml, make_folder, remove_folder),
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_names_of_problems),
        cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_parameters_are_the_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
