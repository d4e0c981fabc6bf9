/* Adapters: what they make of the files of boards, good and bad. */
#define _GNU_SOURCE
#include "regrade_help.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grader/regrade/problem.h"
#include "sandbox/base/cleanup.h"

/* --- Sinks ---------------------------------------------------------------------------- */

/* What was delivered, as lines. */
static struct {
    char text[16384], note[512]; /* note: the last one */
    size_t notes;
} seen;

static int on_begin(void *data, const struct regrade_source *source, kgrade_error *err)
{
    (void)data;
    (void)err;
    snprintf(seen.text, sizeof seen.text, "%s\n", source->rule);
    seen.notes = 0;
    return 0;
}

static int on_take(void *data, const struct regrade_entry *given, kgrade_error *err)
{
    (void)err;
    struct regrade_entry e = *given;
    static const char *const passed[] = {"?", "passed", "failed"};
    size_t used = strlen(seen.text);
    regrade_complete(&e, data);
    snprintf(seen.text + used, sizeof seen.text - used, "%s|%s|%s|%s|%s|%g %s #%u %s\n", e.id,
             e.board, e.author ? e.author : "-", e.skip_code ? e.skip_code : e.task,
             e.skip_code ? "-" : e.device, e.original.value,
             e.original.unit ? e.original.unit : "-", e.original.rank, passed[e.original.passed]);
    return 0;
}

static int on_note(void *data, const char *text, kgrade_error *err)
{
    (void)data;
    (void)err;
    seen.notes++;
    snprintf(seen.note, sizeof seen.note, "%s", text);
    return 0;
}

/* The problem that was carried last, and how often one was. */
static struct {
    json_t *json, *files, *baselines;
    char name[128], origin[512];
    size_t n;
} carried;

static int on_carry(void *data, const struct regrade_problem *problem, struct regrade_carried *ret,
                    kgrade_error *err)
{
    (void)data;
    (void)err;
    json_decref(carried.json);
    json_decref(carried.files);
    json_decref(carried.baselines);
    carried.json = json_deep_copy(problem->json);
    carried.files = json_deep_copy(problem->files);
    carried.baselines = json_deep_copy(problem->baselines);
    snprintf(carried.name, sizeof carried.name, "%s", problem->name);
    snprintf(carried.origin, sizeof carried.origin, "%s", problem->origin);
    carried.n++;
    *ret = (struct regrade_carried){.task = carried.name};
    return 0;
}

static json_t *tasks;

static int make_tasks(void **state)
{
    (void)state;
    tasks = json_pack("[{s:s, s:[{s:s, s:[s]}, {s:s, s:[s]}]}, {s:s, s:[{s:s, s:[s]}]}]", "name",
                      "vector_add", "devices", "name", "opencl", "languages", "c", "name", "cuda",
                      "languages", "cuda", "name", "matmul", "devices", "name", "opencl",
                      "languages", "c");
    static const char *const made[] = {"gpumode_vectoradd", "gpumode_again", "gpumode_add_py",
                                       "kernelbench_1_2", "kernelbench_2_1"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        json_array_append_new(tasks, json_pack("{s:s, s:[{s:s, s:[s]}]}", "name", made[i],
                                               "devices", "name", "cuda", "languages", "python"));
    return tasks ? 0 : -1;
}

static int free_tasks(void **state)
{
    (void)state;
    json_decref(tasks);
    json_decref(carried.json);
    json_decref(carried.files);
    json_decref(carried.baselines);
    return 0;
}

/* Reads folder/NAME; the error's code, or what was delivered.  adapter: the one that must recognise it. */
static const char *read_with(const char *adapter, const char *name, struct regrade_wishes wishes)
{
    static kgrade_error err;
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    const struct regrade_adapter *found = regrade_adapter_for(path, &err);
    if (!found)
        return err.code;
    assert_string_equal(found->name, adapter);
    wishes.tasks = tasks;
    const struct regrade_sink sink = {on_begin, on_take, on_note, &wishes, on_carry};
    return found->read(path, &wishes, &sink, &err) ? err.code : seen.text;
}

static const char *read_as(const char *adapter, const char *name)
{
    return read_with(adapter, name, (struct regrade_wishes){0});
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_folder),           TEST(test_board_json),     TEST(test_hostile_folder),
        TEST(test_leetgpu),          TEST(test_exports),        TEST(test_checkouts),
        TEST(test_checkout_problem), TEST(test_problem_folder), TEST(test_kernelbench),
        TEST(test_flashinfer),       TEST(test_arena_runs),     TEST(test_arena_configs),
        TEST(test_arena_lines),
    };
    return cmocka_run_group_tests(tests, make_tasks, free_tasks);
}
