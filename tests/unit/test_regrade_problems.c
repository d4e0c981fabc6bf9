/* Foreign problems: what adapters carry of them into a task, and what makes that impossible. */
#define _GNU_SOURCE
#include "regrade_adapters_help.h"

#include <unistd.h>

#include "sandbox/base/cleanup.h"

/* --- GPU MODE: a checkout ----------------------------------------------------------------------- */

static const char description[] =
    "lang: py\nranking_by: geom\ndescription: |\n  a: b\nconfig: {main: eval.py}\nfiles:\n"
    "- {name: submission.py, source: '@SUBMISSION@'}\n- {name: task.py, source: task.py}\n"
    "- {name: utils.py, source: ../utils.py}\n- {name: reference.py, source: reference.py}\n"
    "- {name: eval.py, source: ../eval.py}\ntests:\n- {size: 7, seed: 1}\nbenchmarks:\n"
    "- {size: 100, seed: 2}\n- {size: 200, seed: 3}\n";
static const char reference[] = "import numpy\nfrom utils import match\nfrom task import T\n\n"
                                "def ref_kernel(data):\n    return data\n\n"
                                "def generate_input(size, seed):\n    return 1\n";

static void put_checkout(void)
{
    put("problems/one.yaml",
        "name: one\nproblems:\n  - directory: one/add_py\n    name: vectoradd\n"
        "    gpus: [H100, L4]\n  - {directory: one/gone_py, name: gone}\n");
    put("problems/one/add_py/task.yml", description);
    put("problems/one/add_py/submission.py", "pass");
    put("problems/one/add_py/reference.py", reference);
    put("problems/one/add_py/task.py", "T = 1\n");
    put("problems/one/utils.py", "import task\ndef match(): pass\n");
    put("problems/one/add_py/solutions/correct/a.py", "pass");
    put("problems/one/add_py/solutions/wrong/b.py", "pass");
}

static void test_checkouts(void **state)
{
    (void)state;
    put_checkout();
    put("problems/two.yaml", "problems:\n- {directory: one/add_py, name: again, gpus: [MI300]}\n");
    carried.n = 0;
    assert_string_equal(
        read_as("gpumode", ""),
        "last\n"
        "one/one/add_py/submission.py|vectoradd|-|gpumode_vectoradd|cuda|nan s #0 ?\n"
        "one/one/add_py/solutions/correct/a.py|vectoradd|-|gpumode_vectoradd|cuda|nan s #0 "
        "passed\n"
        "one/one/add_py/solutions/wrong/b.py|vectoradd|-|gpumode_vectoradd|cuda|nan s #0 failed\n"
        "two/one/add_py/submission.py|again|-|needs_amd|-|nan s #0 ?\n"
        "two/one/add_py/solutions/correct/a.py|again|-|needs_amd|-|nan s #0 passed\n"
        "two/one/add_py/solutions/wrong/b.py|again|-|needs_amd|-|nan s #0 failed\n");
    assert_int_equal(seen.notes, 1);
    assert_int_equal(carried.n, 1);
    assert_string_equal(read_as("gpumode", "problems/one/add_py"),
                        "last\n"
                        "add_py/submission.py|add_py|-|gpumode_add_py|cuda|nan s #0 ?\n"
                        "add_py/solutions/correct/a.py|add_py|-|gpumode_add_py|cuda|nan s #0 "
                        "passed\n"
                        "add_py/solutions/wrong/b.py|add_py|-|gpumode_add_py|cuda|nan s #0 "
                        "failed\n");
    put("problems/two.yaml", "problems:\n- directory: ../../etc\n");
    assert_string_equal(read_as("gpumode", ""), "bad_board");
}

/* What of a problem goes into a task, and what makes that impossible. */
static void test_checkout_problem(void **state)
{
    (void)state;
    put_checkout();
    read_as("gpumode", "");
    cleanup_free char *json = json_dumps(carried.json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        json,
        "{\"cases\":{\"benchmark\":[{\"seed\":2,\"size\":100},{\"seed\":3,\"size\":200}],"
        "\"correctness\":[{\"seed\":1,\"size\":7}]},\"entry\":\"custom_kernel\",\"form\":\"data\","
        "\"inputs\":\"generate_input\",\"reference\":\"ref_kernel\",\"seeds\":100000,\"title\":"
        "\"GPU MODE: "
        "vectoradd\",\"tolerance\":{\"absolute\":0.001,\"norm\":0.001,\"relative\":0.001,\"why\":"
        "\"The board's own function decides where there is one.\"}}");
    /* The reference is the first of the files; in one module it is the last. */
    assert_string_equal(json_object_iter_key(json_object_iter(carried.files)), "reference.py");
    assert_int_equal(json_object_size(carried.files), 3);
    const char *module = json_string_value(json_object_get(carried.baselines, "cuda"));
    assert_non_null(strstr(module, "\"task.py\""));
    assert_true(strstr(module, "\"task.py\"") < strstr(module, "\"utils.py\""));
    assert_true(strstr(module, "\"utils.py\"") < strstr(module, "\"reference.py\""));
    /* On OpenCL it is a solution, with what it may import. */
    module = json_string_value(json_object_get(carried.baselines, "opencl"));
    assert_non_null(strstr(module, "\"solution.py\": \"pass\""));
    assert_non_null(strstr(module, "\"task.py\""));
    assert_null(strstr(module, "\"reference.py\""));

    put("problems/one/add_py/reference.py", "check_implementation = 1\ndevice = 'cuda'\n"
                                            "def ref_kernel(d): pass\ndef generate_input(): pass");
    read_as("gpumode", "");
    assert_string_equal(json_string_value(json_object_get(carried.json, "check")),
                        "check_implementation");
    assert_int_equal(json_array_size(json_object_get(carried.json, "devices")), 1);
    assert_null(json_object_get(carried.baselines, "opencl"));
    static const struct {
        const char *line;
        bool output;
    } unpacking[] = {{"    a, b, c = data\n", true},
                     {"    a, b = data\n", false},
                     {"    data, output = data\n", true},
                     {"    output = data\n", false},
                     {"    return data", false}};
    for (size_t i = 0; i < sizeof unpacking / sizeof unpacking[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "def generate_input(): pass\ndef ref_kernel(data):\n%s",
                 unpacking[i].line);
        put("problems/one/add_py/reference.py", text);
        read_as("gpumode", "");
        assert_int_equal(json_object_get(carried.json, "output") != NULL, unpacking[i].output);
    }

    carried.n = 0;
    static const struct {
        const char *file, *text, *code;
    } bad[] = {
        {"reference.py", "def ref_kernel(d): pass\n", "problem_unsupported"},
        {"task.yml", "lang: py\n", "problem_unsupported"},
        {"task.yml", "lang: cu\n", "problem_unsupported"},
        {"task.yml", "multi_gpu: true\n", "needs_several_gpus"},
        {"task.yml",
         "tests: [{n: 1}]\nbenchmarks: [{n: 1}]\nfiles: [{name: reference.py, source: "
         "../../../../../../etc/passwd}]\n",
         "problem_unsupported"},
        {"task.yml",
         "tests: [{n: 1}]\nbenchmarks: [{n: 1}]\nfiles: [{name: ../x.py, source: task.py}]\n",
         "problem_unsupported"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char path[128];
        put_checkout();
        snprintf(path, sizeof path, "problems/one/add_py/%s", bad[i].file);
        put(path, bad[i].text);
        assert_non_null(strstr(read_as("gpumode", ""), bad[i].code));
    }
    assert_int_equal(carried.n, 0);

    /* One file too many, and one byte too many. */
    char many[4096];
    static char large[REGRADE_MAX_PROBLEM_BYTES + 2];
    snprintf(many, sizeof many, "%s",
             "tests: [{n: 1}]\nbenchmarks: [{n: 1}]\nfiles:\n"
             "- {name: reference.py, source: reference.py}\n");
    for (unsigned i = 1; i <= REGRADE_MAX_PROBLEM_FILES; i++) {
        put_checkout();
        put("problems/one/add_py/task.yml", many);
        assert_null(strstr(read_as("gpumode", ""), "problem_unsupported"));
        size_t used = strlen(many);
        snprintf(many + used, sizeof many - used, "- {name: m%u.py, source: task.py}\n", i);
    }
    put("problems/one/add_py/task.yml", many);
    assert_non_null(strstr(read_as("gpumode", ""), "problem_unsupported"));
    put_checkout();
    memset(large, '#', sizeof large - 1);
    put("problems/one/add_py/task.py", large);
    assert_non_null(strstr(read_as("gpumode", ""), "problem_unsupported"));
    large[REGRADE_MAX_PROBLEM_BYTES] = 0;
    put("problems/one/add_py/task.py", large);
    assert_null(strstr(read_as("gpumode", ""), "problem_unsupported"));
}

static void test_problem_folder(void **state)
{
    (void)state;
    kgrade_error err = {0};
    bool changed;
    cleanup_free char *name = regrade_task_name("gpumode", "AMD-fp8.mm\xff");
    assert_string_equal(name, "gpumode_amd_fp8_mm_");
    json_auto_t *json = json_pack("{s:s}", "form", "data");
    json_auto_t *files = json_pack("{s:s, s:s}", "reference.py", "a", "task.py", "b");
    json_auto_t *baselines = json_pack("{s:s, s:s}", "opencl", "ours", "cuda", "ours");
    const struct regrade_problem problem = {name, "here", json, files, baselines, "words"};
    put("gpumode_amd_fp8_mm_/baseline.opencl.py", "theirs");
    must(regrade_problem_write(folder, &problem, &changed, &err), &err);
    assert_true(changed);
    char path[512];
    cleanup_bytes struct bytes text = {0}, kept = {0};
    snprintf(path, sizeof path, "%s/%s/problem.json", folder, name);
    must(io_read_file(path, 4096, &text, &err), &err);
    json_auto_t *written = json_loads((const char *)text.data, 0, NULL);
    json_auto_t *expected = json_pack("{s:s, s:s, s:[s, s]}", "form", "data", "name", name, "files",
                                      "reference.py", "task.py");
    assert_true(json_equal(written, expected));
    snprintf(path, sizeof path, "%s/%s/baseline.opencl.py", folder, name);
    must(io_read_file(path, 4096, &kept, &err), &err);
    assert_string_equal((const char *)kept.data, "theirs");
    /* A baseline of ours follows the problem. */
    bytes_free(&kept);
    json_object_set_new(baselines, "cuda", json_string("newer"));
    must(regrade_problem_write(folder, &problem, &changed, &err), &err);
    assert_true(changed);
    snprintf(path, sizeof path, "%s/%s/baseline.cuda.py", folder, name);
    must(io_read_file(path, 4096, &kept, &err), &err);
    assert_non_null(strstr((const char *)kept.data, "\nnewer"));
    /* A task.json stays while it is of what is there. */
    put("gpumode_amd_fp8_mm_/task.json", "{}");
    snprintf(path, sizeof path, "%s/%s/task.json", folder, name);
    must(regrade_problem_write(folder, &problem, &changed, &err), &err);
    assert_false(changed);
    assert_int_equal(access(path, F_OK), 0);
    json_object_set_new(files, "task.py", json_string("c"));
    must(regrade_problem_write(folder, &problem, &changed, &err), &err);
    assert_true(changed);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* --- AgentKernelArena --------------------------------------------------------------------------- */

static void put_arena_task(const char *type, const char *source, const char *harness)
{
    char config[512];
    snprintf(config, sizeof config,
             "source_file_path: [%s]\ntarget_kernel_functions: [twice]\ncompile_command: [a]\n"
             "correctness_command: [b]\ntask_type: %s\n",
             source, type);
    put("tasks/some/twice/config.yaml", config);
    put("tasks/some/twice/source/twice.py", "def twice(x):\n    x *= 2\n");
    put("tasks/some/twice/scripts/task_runner.py", harness);
}

static void expect_arena_task(const char *becomes)
{
    char line[128];
    carried.n = 0;
    const char *read = read_as("arena", "");
    snprintf(line, sizeof line, "|%s|", becomes);
    assert_non_null(strstr(read, "\ntasks/some/twice|"));
    if (!strstr(read, line))
        fail_msg("%s is not in %s", line, read);
    assert_int_equal(carried.n, !strcmp(becomes, "arena_twice"));
}

static void test_arena(void **state)
{
    (void)state;
    static const char type[] = "triton2triton", source[] = "source/twice.py",
                      harness[] = "TEST_SHAPES = [1]\ndef load_module():\n    pass\n"
                                  "def run_correctness():\n    pass\n";
    put_arena_task(type, source, harness);
    expect_arena_task("arena_twice");
    assert_string_equal(json_string_value(json_object_get(carried.json, "inputs")), "generate");
    const char *first = json_object_iter_key(json_object_iter(carried.files));
    assert_string_equal(first, "arena.py");
    assert_string_equal(json_string_value(json_object_get(carried.files, "task_runner.py")),
                        harness);
    assert_int_equal(json_object_size(carried.files), 4);
    const char *baseline = json_string_value(json_object_get(carried.baselines, "cuda"));
    assert_non_null(strstr(baseline, "def custom_kernel(data)"));
    assert_null(strstr(baseline, "run_correctness"));
    /* Others. */
    put_arena_task("triton2flydsl", source, harness);
    expect_arena_task("needs_amd");
    put_arena_task("triton2cuda", source, harness);
    expect_arena_task("needs_python");
    static const char *const sources[] = {"source/gone.py", "../twice/source/twice.py",
                                          "/etc/passwd.py", "source/twice.py, source/twice.py",
                                          "source/twice.cu"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        put_arena_task(type, sources[i], harness);
        expect_arena_task("needs_python");
    }
    static const char *const harnesses[] = {"TEST_SHAPES = [1]\ndef load_module():\n    pass\n",
                                            "def load_module():\n    pass\n"
                                            "def run_correctness():\n    pass\n",
                                            "\377"};
    for (size_t i = 0; i < sizeof harnesses / sizeof harnesses[0]; i++) {
        put_arena_task(type, source, harnesses[i]);
        expect_arena_task("needs_python");
    }
}

/* --- KernelBench -------------------------------------------------------------------------------- */

static const char model[] = "class Model(Module):\n    pass\n\ndef get_inputs():\n    return []\n";

static void test_kernelbench(void **state)
{
    (void)state;
    put("runs/first/eval_results.json",
        "{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": 1.5, "
        "\"metadata\": {\"hardware\": \"H100\"}}, {\"sample_id\": 1, \"compiled\": true, "
        "\"correctness\": true, \"runtime\": -1.0}], \"2\": {\"compiled\": false, \"correctness\": "
        "false, \"runtime\": -1.0}}");
    put("runs/first/level_2_problem_1_sample_0_kernel.py", "pass");
    put("runs/first/level_2_problem_3_sample_0_kernel.py", "pass");
    put("KernelBench/level2/1_Square_matmul.py", model);
    assert_string_equal(
        read_as("kernelbench", ""),
        "fast_p\n"
        "first/level_2_problem_1_sample_0_kernel.py|level 2|first|kernelbench_2_1|cuda|1.5 ms #0 "
        "passed\n"
        "first/level_2_problem_1_sample_1_kernel.py|level 2|first|no_source|-|nan ms #0 passed\n"
        "first/level_2_problem_2_sample_0_kernel.py|level 2|first|no_source|-|nan ms #0 failed\n"
        "first/level_2_problem_3_sample_0_kernel.py|level 2|first|no_task|-|nan ms #0 ?\n");
    assert_int_equal(seen.notes, 1); /* no reference times */
    put("results/timing/H100/base.json", "{\"level2\": {\"1_Square_matmul.py\": {\"mean\": 3.0}}}");
    read_as("kernelbench", "");
    assert_int_equal(seen.notes, 0);
    put("results/timing/H200/base.json", "{}");
    read_as("kernelbench", "");
    assert_int_equal(seen.notes, 1); /* which of the two? */
    put("runs/first/eval_results.json", "{\"one\": []}");
    assert_string_equal(read_as("kernelbench", ""), "bad_board");
    put("runs/first/eval_results.json", "[]");
    assert_string_equal(read_as("kernelbench", ""), "bad_board");
    char path[512];
    snprintf(path, sizeof path, "%s/runs", folder);
    assert_int_equal(io_remove_tree(path, NULL), 0);
    put("KernelBench/level1/2_Add.py", "pass");
    put("KernelBench/level1/notes.txt", "");
    assert_string_equal(read_as("kernelbench", ""),
                        "fast_p\n"
                        "level1/2_Add.py|level 1|-|problem_unsupported|-|nan ms #0 ?\n"
                        "level2/1_Square_matmul.py|level 2|-|kernelbench_2_1|cuda|nan ms #0 ?\n");
    assert_string_equal(json_string_value(json_object_get(carried.json, "form")), "model");
    assert_null(json_object_get(carried.json, "init"));
    cleanup_free char *candidate = NULL;
    assert_true(asprintf(&candidate, "%s\n\nModelNew = Model\n", model) > 0);
    assert_string_equal(json_string_value(json_object_get(carried.baselines, "cuda")), candidate);

    /* Numbers of the host's that go to the card in each call. */
    static const char least[] = "import torch\n"
                                "class Model:\n"
                                "    def __call__(self, x):\n"
                                "        return torch.min(x, torch.tensor(0.5, device=x.device))\n"
                                "def get_inputs():\n"
                                "    return []\n";
    put("KernelBench/level2/1_Square_matmul.py", least);
    read_as("kernelbench", "");
    const char *recordable = json_string_value(json_object_get(carried.baselines, "cuda"));
    assert_memory_equal(recordable, least, strlen(least));
    assert_non_null(strstr(recordable, "torch.tensor = constant\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_checkouts), TEST(test_checkout_problem), TEST(test_problem_folder),
        TEST(test_arena),     TEST(test_kernelbench),
    };
    return cmocka_run_group_tests(tests, make_tasks, free_tasks);
}
