/* Adapters: what they make of the files of boards, good and bad. */
#define _GNU_SOURCE
#include "regrade_adapters_help.h"

#include <unistd.h>

/* --- Plain folders ------------------------------------------------------------------------------ */

static void test_folder(void **state)
{
    (void)state;
    put("vector_add/alice.c", "int a;");
    put("vector_add/bob/add.c", "int b;");
    put("vector_add/bob/tile.h", "int t;");
    put("vector_add/carol.cu", "int c;");
    put("vector_add/dave.py", "pass");
    put("vector_add/notes.txt", "no candidate");
    put("vector_add/empty/readme.md", "no candidate");
    put("vector_add/board.csv",
        "file,author,rank,time_us,passed\r\nalice.c,\"Alice, A.\",1,250,true\n"
        "gone.c,,2,300,false\n");
    assert_string_equal(read_as("folder", "vector_add"),
                        "score\n"
                        "alice.c|vector_add|Alice, A.|vector_add|opencl|250 us #1 passed\n"
                        "bob|vector_add|bob|vector_add|opencl|nan - #0 ?\n"
                        "carol.cu|vector_add|carol|vector_add|cuda|nan - #0 ?\n"
                        "dave.py|vector_add|dave|needs_python|-|nan - #0 ?\n"
                        "gone.c|vector_add|gone|no_source|-|300 us #2 failed\n");
    /* Of a folder of such folders the name goes before. */
    put("matmul/x.cu", "int x;");
    assert_string_equal(
        read_as("folder", ""),
        "score\n"
        "matmul/x.cu|matmul|x|unknown_language|-|nan - #0 ?\n"
        "vector_add/alice.c|vector_add|Alice, A.|vector_add|opencl|250 us #1 passed\n"
        "vector_add/bob|vector_add|bob|vector_add|opencl|nan - #0 ?\n"
        "vector_add/carol.cu|vector_add|carol|vector_add|cuda|nan - #0 ?\n"
        "vector_add/dave.py|vector_add|dave|needs_python|-|nan - #0 ?\n"
        "vector_add/gone.c|vector_add|gone|no_source|-|300 us #2 failed\n");
    assert_string_equal(
        read_with("folder", "matmul", (struct regrade_wishes){.task = "vector_add"}),
        "score\nx.cu|matmul|x|vector_add|cuda|nan - #0 ?\n");
    assert_string_equal(read_with("folder", "matmul", (struct regrade_wishes){.task = "gone"}),
                        "score\nx.cu|matmul|x|unknown_task|-|nan - #0 ?\n");
    assert_string_equal(read_with("folder", "matmul", (struct regrade_wishes){.device = "cuda"}),
                        "score\nx.cu|matmul|x|task_not_for_device|-|nan - #0 ?\n");
}

static void test_board_json(void **state)
{
    (void)state;
    put("a/one.c", "int a;");
    put("a/board.json", "{\"title\": \"The board\", \"rule\": \"geom\", \"entries\": [{\"file\": "
                        "\"one.c\", \"value\": "
                        "1.5, \"unit\": \"points\", \"rank\": 4, \"passed\": true}]}");
    assert_string_equal(read_as("folder", "a"),
                        "geom\none.c|The board|one|no_task|-|1.5 points #4 passed\n");
    assert_int_equal(seen.notes, 0);
    /* What is no figure, or has no order, is none, and that is told once; nothing else of the record is lost. */
    put("a/board.json", "{\"entries\": [{\"file\": \"one.c\", \"value\": 3, \"unit\": \"seconds\"},"
                        "{\"file\": \"b.c\", \"time_us\": \"12 us\", \"rank\": \"2\"},"
                        "{\"file\": \"c.c\", \"value\": 3, \"unit\": \"ms\", \"passed\": null}]}");
    assert_string_equal(read_as("folder", "a"), "score\n"
                                                "one.c|a|one|no_task|-|nan seconds #0 ?\n"
                                                "b.c|a|b|no_source|-|nan - #2 ?\n"
                                                "c.c|a|c|no_source|-|3 ms #0 ?\n");
    assert_int_equal(seen.notes, 1);
    assert_non_null(strstr(seen.note, "in 2 of the board's records. The first is unit of one.c: "
                                      "\"seconds\""));
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"entries\": 3}",
                                      "{\"entries\": [{}]}",
                                      "{\"entries\": [{\"file\": \"a\"}, {\"file\": \"a\"}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("a/board.json", bad[i]);
        assert_string_equal(read_as("folder", "a"), "bad_board");
    }
}

/* Names that are no UTF-8, files that are too large or no text, links that lead out. */
static void test_hostile_folder(void **state)
{
    (void)state;
    char path[512];
    static char large[KGRADE_MAX_SOURCE_BYTES + 2];
    memset(large, 'x', sizeof large - 1);
    put("vector_add/\xff.c", "int a;");
    put("vector_add/large.c", large);
    put("vector_add/two/bad name.c", "int b;");
    put("vector_add/two/b.c", "int b;");
    put("vector_add/bytes/a.c", "int a; /* \xff */");
    put("vector_add/bytes/b.c", "int b;");
    snprintf(path, sizeof path, "%s/vector_add/link.c", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_string_equal(read_as("folder", "vector_add"),
                        "score\n"
                        "bytes|vector_add|bytes|source_not_utf8|-|nan - #0 ?\n"
                        "large.c|vector_add|large|source_too_large|-|nan - #0 ?\n"
                        "two|vector_add|two|vector_add|opencl|nan - #0 ?\n"
                        "%FF.c|vector_add|%FF|vector_add|opencl|nan - #0 ?\n");
    assert_int_equal(seen.notes, 1);
    assert_non_null(strstr(seen.note, "1 not read, such as link.c."));
    assert_string_equal(read_as("", "vector_add/link.c"), "unknown_board");
    assert_string_equal(read_as("", "nothing"), "unknown_board");
}

/* --- solve() ------------------------------------------------------------------------------------ */

static void test_leetgpu(void **state)
{
    (void)state;
    static const char add[] =
        "__global__ void vector_add(const float *A) {}\n"
        "extern \"C\" void solve(const float* A, const float* B, float* C, int N) {}";
    put("easy/1_vector_add/mine.cu", add);
    put("easy/other.cu", add);
    put("easy/vector_addition.cu", "extern \"C\" void solve(float* A, int N) {}");
    put("easy/helper.cu", "int helper;");
    put("medium/sub/softmax.cu", add);
    put("board.csv", "file,time_ms\neasy/other.cu,1\ngone.cu,2\n");
    read_as("leetgpu", "");
    assert_int_equal(seen.notes, 1);
    assert_non_null(strstr(seen.note, ": 1, the first is gone.cu."));
    assert_non_null(strstr(seen.text, "easy/1_vector_add/mine.cu|vector_add|"));
    assert_non_null(strstr(seen.text, "|vector_add|cuda|nan"));
    assert_non_null(strstr(seen.text, "easy/other.cu|other problems|"));
    assert_non_null(strstr(seen.text, "|signature_differs|"));
    assert_null(strstr(seen.text, "helper"));
    assert_string_equal(
        read_with("leetgpu", "easy/other.cu", (struct regrade_wishes){.task = "vector_add"}),
        "score\nother.cu|vector_add|easy|vector_add|cuda|nan - #0 ?\n");
    assert_string_equal(
        read_with("leetgpu", "easy/other.cu", (struct regrade_wishes){.task = "softmax"}),
        "score\nother.cu|softmax|easy|no_task|-|nan - #0 ?\n");
}

/* --- GPU MODE ----------------------------------------------------------------------------------- */

static void test_exports(void **state)
{
    (void)state;
    put("new.jsonl",
        "{\"submission_id\": 7, \"leaderboard_id\": 595, \"problem_name\": \"nvfp4_gemv\", "
        "\"user_name\": "
        "\"mallory\", \"score\": 2.5e-5, \"passed\": true, \"mode\": \"leaderboard\", \"runner\": "
        "\"B200\", \"code\": \"import torch\"}\n\n"
        "{\"submission_id\": 8, \"leaderboard_id\": 595, \"problem_name\": \"nvfp4_gemv\", "
        "\"score\": 0, "
        "\"passed\": true, \"mode\": \"leaderboard\", \"runner\": \"B200\", \"code\": \"x\"}\r\n"
        "{\"submission_id\": 9, \"leaderboard_id\": 595, \"mode\": \"test\", \"code\": \"x\"}");
    assert_string_equal(read_as("gpumode", "new.jsonl"),
                        "geom\n"
                        "7/B200|nvfp4_gemv, B200|mallory|no_task|-|2.5e-05 s #0 passed\n"
                        "8/B200|nvfp4_gemv, B200|-|no_task|-|nan s #0 passed\n");
    assert_int_equal(seen.notes, 2); /* a row of a test, a score that is no time */
    put("old.csv",
        "submission_id,leaderboard_id,user_id,code,run_id,run_mode,run_score,run_passed\n"
        "5,398,u1,\\x70617373,77,leaderboard,0.001,True\n"
        "6,398,u2,,78,leaderboard,,False\n");
    assert_string_equal(read_as("gpumode", "old.csv"),
                        "geom\n"
                        "5/77|leaderboard 398|u1|no_task|-|0.001 s #0 passed\n"
                        "6/78|leaderboard 398|u2|no_task|-|nan s #0 failed\n");
    put("made.jsonl", "{\"submission_id\": 1, \"leaderboard_id\": 2, \"problem_name\": "
                      "\"vectoradd\", \"runner\": \"H100\", \"code\": \"x\"}\n"
                      "{\"submission_id\": 2, \"leaderboard_id\": 2, \"problem_name\": "
                      "\"vectoradd\", \"runner\": \"MI300\", \"code\": \"x\"}\n");
    assert_string_equal(read_as("gpumode", "made.jsonl"),
                        "geom\n"
                        "1/H100|vectoradd, H100|-|gpumode_vectoradd|cuda|nan s #0 ?\n"
                        "2/MI300|vectoradd, MI300|-|needs_amd|-|nan s #0 ?\n");
    put("bad.jsonl", "{\"submission_id\": 1, \"leaderboard_id\": 2}\n{oops}\n");
    assert_string_equal(read_as("gpumode", "bad.jsonl"), "bad_board");
    put("bad.jsonl", "{\"leaderboard_id\": 2, \"x\": \"submission_id\"}\n");
    assert_string_equal(read_as("gpumode", "bad.jsonl"), "bad_board");
    put("other.jsonl", "{\"name\": 2}\n");
    assert_string_equal(read_as("gpumode", "other.jsonl"), "unknown_board");
}

/* --- AgentKernelArena --------------------------------------------------------------------------- */

/* The single cases of the last entry: on_take notes them while this is set. */
static char *arena_cases;

static int note_cases(void *data, const struct regrade_entry *e, kgrade_error *err)
{
    free(arena_cases);
    arena_cases =
        e->original.cases
            ? json_dumps(e->original.cases, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6))
            : NULL;
    return on_take(data, e, err);
}

static const char *cases_of(const char *name)
{
    kgrade_error err = {0};
    char path[512];
    struct regrade_wishes wishes = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const struct regrade_adapter *arena = regrade_adapter_for(path, &err);
    assert_non_null(arena);
    assert_string_equal(arena->name, "arena");
    const struct regrade_sink sink = {on_begin, note_cases, on_note, &wishes, NULL};
    must(arena->read(path, &wishes, &sink, &err), &err);
    return arena_cases ? arena_cases : "none";
}

static void test_arena_runs(void **state)
{
    (void)state;
    put("set/run_1/softmax_x/task_result.yaml",
        "task_name: triton2triton/softmax\npass_compilation: true\npass_correctness: true\n"
        "base_execution_time: 2.0\nbest_optimized_execution_time: 1.0\nscore: 320.0\n");
    put("set/run_1/gemm_x/task_result.yaml",
        "task_name: hip2hip/gemm\npass_compilation: false\nscore: 0\n");
    put("set/run_1/reports/overall_summary.csv", "Task Name,Task Type,Score,Speedup\n"
                                                 "triton2triton/softmax,triton2triton,320.0,2.0\n"
                                                 "triton2triton/gone,triton2triton,120.5,0.0\n");
    assert_string_equal(read_as("arena", "set"),
                        "arena\n"
                        "run_1/gemm_x|set|run_1|needs_amd|-|0 points #0 failed\n"
                        "run_1/softmax_x|set|run_1|needs_python|-|320 points #0 passed\n"
                        "run_1/triton2triton/gone|set|run_1|needs_python|-|120.5 points #0 ?\n");
    assert_string_equal(cases_of("set/run_1/softmax_x"),
                        "[{\"baseline_ns\":2e6,\"id\":\"mean of all cases\",\"time_ns\":1e6}]");
    put("set/run_1/softmax_x/build/performance_report.json",
        "{\"test_cases\": [{\"params\": {\"n\": 2}, \"ori_time\": 3, \"opt_time\": 1.5, "
        "\"benchmark_method\": "
        "\"cuda_graph\"}, {\"shape\": [4], \"execution_time_ms\": -1}, {\"shape\": [5], "
        "\"timing_ms\": {\"min\": 1, \"mean\": 2}}, {\"wall_time_ms\": 9}]}");
    assert_string_equal(cases_of("set/run_1/softmax_x"),
                        "[{\"baseline_ns\":3e6,\"id\":\"{\\\"n\\\":2}\",\"method\":\"cuda_graph\","
                        "\"time_ns\":1.5e6},"
                        "{\"baseline_ns\":null,\"id\":\"[4]\",\"time_ns\":null},"
                        "{\"baseline_ns\":null,\"id\":\"[5]\",\"time_ns\":2e6}]");
    put("set/run_1/softmax_x/task_result.yaml", "task_name: [");
    assert_string_equal(read_as("arena", "set"), "bad_board");
}

static void test_arena_configs(void **state)
{
    (void)state;
    put("set/tasks/triton2triton/vllm/a/config.yaml",
        "source_file_path: [k.py]\ntarget_kernel_functions: [f]\ncompile_command: [x]\n"
        "correctness_command: [y]\ntask_type: triton2triton\n");
    put("set/tasks/triton2triton/vllm/a/deeper/config.yaml", "not: looked at\n");
    put("set/tasks/torch2hip/b/config.yaml",
        "schema_version: 2\nkernel_identity: {}\ncandidate: {language: hip}\nbaseline: {}\n"
        "evaluation: {}\n");
    put("set/tasks/odd/c/config.yaml", "task_type: triton2triton\n");
    put("set/tasks/odd/d/config.yaml", "a: [\n");
    assert_string_equal(read_as("arena", "set"),
                        "arena\n"
                        "tasks/odd/c|set|-|bad_config|-|nan points #0 ?\n"
                        "tasks/odd/d|set|-|bad_config|-|nan points #0 ?\n"
                        "tasks/torch2hip/b|set|-|needs_amd|-|nan points #0 ?\n"
                        "tasks/triton2triton/vllm/a|set|-|needs_python|-|nan "
                        "points #0 ?\n");
}

static void test_arena_lines(void **state)
{
    (void)state;
    put("eval.log", "noise\n"
                    "ARENA_EVAL_RESULT={\"protocol\": \"arena-eval-v1\", \"role\": \"baseline\", "
                    "\"action\": \"performance\", "
                    "\"status\": \"PASS\", \"cases\": [{\"test_case_id\": \"a\", "
                    "\"execution_time_ms\": 2, \"benchmark_method\": "
                    "\"cuda_graph\"}, {\"test_case_id\": \"b\", \"execution_time_ms\": 4, "
                    "\"benchmark_method\": \"cuda_graph\"}, "
                    "{\"test_case_id\": \"c\", \"execution_time_ms\": 5}]}\n"
                    "ARENA_EVAL_RESULT={\"role\": \"candidate\", \"action\": \"performance\", "
                    "\"status\": \"PASS\", \"cases\": "
                    "[{\"test_case_id\": \"b\", \"execution_time_ms\": 1, \"benchmark_method\": "
                    "\"cuda_event_fallback\"}, "
                    "{\"test_case_id\": \"a\", \"execution_time_ms\": 1, \"benchmark_method\": "
                    "\"cuda_graph\"}]}\n");
    assert_string_equal(
        cases_of("eval.log"),
        "[{\"baseline_ns\":5e6,\"id\":\"c\",\"time_ns\":null},"
        "{\"baseline_ns\":4e6,\"id\":\"b\",\"method\":\"mixed\",\"time_ns\":1e6},"
        "{\"baseline_ns\":2e6,\"id\":\"a\",\"method\":\"cuda_graph\",\"time_ns\":1e6}]");
    assert_non_null(strstr(seen.text, "|needs_python|-|nan points #0 passed"));
    put("eval.log", "ARENA_EVAL_RESULT={oops\n");
    assert_string_equal(read_as("arena", "eval.log"), "bad_board");
    free(arena_cases);
    arena_cases = NULL;
}

/* --- flashinfer-bench --------------------------------------------------------------------------- */

static void test_flashinfer(void **state)
{
    (void)state;
    static const char trace[] = "{\"definition\": \"rmsnorm\", \"solution\": \"%s\", \"workload\": "
                                "{\"uuid\": \"u%d\"}, \"evaluation\": {\"status\": "
                                "\"%s\", \"performance\": %s}}\n";
    static const char performance[] =
        "{\"latency_ms\": 0.5, \"reference_latency_ms\": 1.0, \"speedup_factor\": %d.0}";
    char text[4096] = "", two[128], four[128];
    snprintf(two, sizeof two, performance, 2);
    snprintf(four, sizeof four, performance, 4);
    snprintf(text + strlen(text), sizeof text - strlen(text), trace, "fast", 1, "PASSED", two);
    snprintf(text + strlen(text), sizeof text - strlen(text), trace, "fast", 2, "PASSED", four);
    snprintf(text + strlen(text), sizeof text - strlen(text), trace, "broken", 1, "PASSED", two);
    snprintf(text + strlen(text), sizeof text - strlen(text), trace, "broken", 2, "RUNTIME_ERROR",
             "null");
    strcat(text, "{\"definition\": \"rmsnorm\", \"solution\": null, \"workload\": {}, "
                 "\"evaluation\": null}\n");
    put("set/traces/norm/rmsnorm.jsonl", text);
    put("set/solutions/norm/fast.json",
        "{\"name\": \"fast\", \"author\": \"an agent\", \"spec\": {\"language\": \"triton\"}}");
    put("set/solutions/norm/odd.json", "no JSON");
    assert_string_equal(read_as("flashinfer", "set"),
                        "speedup_factor\n"
                        "rmsnorm/fast|set|an agent|needs_python|-|3 ratio #0 passed\n"
                        "rmsnorm/broken|set|broken|needs_python|-|2 ratio #0 failed\n");
    assert_string_equal(read_as("flashinfer", "set/traces/norm/rmsnorm.jsonl"),
                        "speedup_factor\n"
                        "rmsnorm/fast|rmsnorm.jsonl|fast|needs_python|-|3 ratio #0 passed\n"
                        "rmsnorm/broken|rmsnorm.jsonl|broken|needs_python|-|2 ratio #0 failed\n");
    /* Two kinds of hardware are two boards, not a mean of both. */
    put("two.jsonl",
        "{\"definition\": \"d\", \"solution\": \"s\", \"workload\": {\"uuid\": \"u\"}, "
        "\"evaluation\": "
        "{\"status\": \"PASSED\", \"environment\": {\"hardware\": \"H100\"}, \"performance\": "
        "{\"speedup_factor\": 2}}}\n"
        "{\"definition\": \"d\", \"solution\": \"s\", \"workload\": {\"uuid\": \"u\"}, "
        "\"evaluation\": "
        "{\"status\": \"PASSED\", \"environment\": {\"hardware\": \"B200\"}, \"performance\": "
        "{\"speedup_factor\": 4}}}\n");
    assert_string_equal(read_as("flashinfer", "two.jsonl"),
                        "speedup_factor\n"
                        "d/s, H100|two.jsonl, H100|s|needs_python|-|2 ratio #0 passed\n"
                        "d/s, B200|two.jsonl, B200|s|needs_python|-|4 ratio #0 passed\n");
    strcat(text, "{\"definition\": \"rmsnorm\", \"evaluation\": {}}\n");
    put("set/traces/norm/rmsnorm.jsonl", text);
    assert_string_equal(read_as("flashinfer", "set"), "bad_board");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_folder),        TEST(test_board_json),  TEST(test_hostile_folder),
        TEST(test_leetgpu),       TEST(test_exports),     TEST(test_arena_runs),
        TEST(test_arena_configs), TEST(test_arena_lines), TEST(test_flashinfer),
    };
    return cmocka_run_group_tests(tests, make_tasks, free_tasks);
}
