/* What rehearsals are asked, and what becomes of their answers.  The interpreter is a real one, the program a test's own. */
#include "engine_help.h"

#include "grader/grade/rehearsal.h"

#define INTERPRETER "/usr/bin/python3"
#define PROGRAM "kgrade-python-rehearse.py"

static struct device device;
static kgrade *engine;

/* Answers with what it was asked, or as the candidate says. */
static const char program[] =
    "import json, os, struct, sys\n"
    "def read(n):\n"
    "    data = b''\n"
    "    while len(data) < n:\n"
    "        piece = os.read(3, n - len(data))\n"
    "        if not piece:\n"
    "            sys.exit()\n"
    "        data += piece\n"
    "    return data\n"
    "length, blob = struct.unpack('<II', read(8))\n"
    "request, source = json.loads(read(length)), read(blob).decode()\n"
    "answer = json.dumps({'source': source, 'cases': [json.loads(c) for c in request['cases']],\n"
    "                     'entry': json.loads(request['task'])['entry'], 'target': "
    "request['target'],\n"
    "                     'boot': os.path.basename(sys.argv[1]),\n"
    "                     'nodes': [n for n in os.listdir('/dev') if "
    "n.startswith('nvidia')]}).encode()\n"
    "if 'large' in source:\n"
    "    answer = bytes((64 << 20) + 1)\n"
    "if 'hidden fails' in source and len(request['cases']) == 1 or 'both die' in source:\n"
    "    sys.exit(1)\n"
    "says = b'{\"ok\": true, \"unbuildable\": \"no C++\"}' if 'broken' in source else b'{\"ok\": "
    "true}'\n"
    "if 'broken' in source:\n"
    "    print('error: expected a semicolon', flush=True)\n"
    "if 'broken when hidden' in source and len(request['cases']) != 1:\n"
    "    says = b'{\"ok\": true}'\n"
    "text = b'no message' if 'garbled' in source else says\n"
    "message = struct.pack('<II', len(text), len(answer)) + text + answer\n"
    "while message:\n"
    "    message = message[os.write(3, message):]\n";

static void open_grade(struct grade *g, const char *source)
{
    *g = (struct grade){.engine = engine,
                        .task = task_set_find(engine->tasks, TASK),
                        .device = &device,
                        .slot = engine_slot(engine, &device),
                        .python = &engine->pythons.items[0],
                        .source = source,
                        .source_size = strlen(source),
                        .target = "sm_90a",
                        .n_public = 2,
                        .n_recorded = 3};
    g->cases[0].dims[0] = 1000;
    g->cases[1].dims[0] = 31;
    g->cases[2].dims[0] = 777; /* hidden */
    spares_begin(engine, g->slot, g->task, g->python, rehearsal_is_due(g));
}

static void close_grade(struct grade *g)
{
    graves_wait(&g->graves);
    spares_over(engine, g->slot);
    for (size_t i = 0; i < RECORD_MAX_SEEDS; i++)
        bytes_free(&g->seeds[i]);
}

static json_t *parse(const struct bytes *seed)
{
    json_t *json = json_loadb((const char *)seed->data, seed->size, 0, NULL);
    assert_non_null(json);
    return json;
}

static json_int_t dim_of(const json_t *seed, size_t i)
{
    json_t *call = json_array_get(json_object_get(seed, "cases"), i);
    json_t *last = json_array_get(call, 3); /* a, b, c, n, and the queue */
    return json_integer_value(json_object_get(last, "value"));
}

static void each_part_is_rehearsed_by_itself(void **state)
{
    (void)state;
    static struct grade g;
    open_grade(&g, "import triton");
    rehearsal_run(&g);
    json_t *seen = parse(&g.seeds[0]), *hidden = parse(&g.seeds[1]);
    assert_int_equal(json_array_size(json_object_get(seen, "cases")), 2);
    assert_int_equal(dim_of(seen, 0), 1000);
    assert_int_equal(dim_of(seen, 1), 31);
    assert_int_equal(json_array_size(json_object_get(hidden, "cases")), 1);
    assert_int_equal(dim_of(hidden, 0), 777);
    assert_string_equal(json_string_value(json_object_get(seen, "source")), "import triton");
    assert_string_equal(json_string_value(json_object_get(seen, "entry")), TASK);
    assert_string_equal(json_string_value(json_object_get(seen, "target")), "sm_90a");
    assert_string_equal(json_string_value(json_object_get(seen, "boot")), "kgrade-python-boot.py");
    assert_int_equal(json_array_size(json_object_get(seen, "nodes")), 0);
    json_decref(seen);
    json_decref(hidden);
    close_grade(&g);
}

static void what_compiles_nothing_is_not_rehearsed(void **state)
{
    (void)state;
    static struct grade g;
    open_grade(&g, "import torch");
    assert_false(rehearsal_is_due(&g));
    rehearsal_run(&g);
    assert_int_equal(g.seeds[0].size, 0);
    g.source = "import triton";
    g.source_size = strlen(g.source);
    assert_true(rehearsal_is_due(&g));
    g.source = "torch.utils.cpp_extension";
    g.source_size = strlen(g.source);
    assert_true(rehearsal_is_due(&g));
    g.python = NULL;
    assert_false(rehearsal_is_due(&g));
    close_grade(&g);
}

/* A candidate that spoils its rehearsal compiles where it is recorded. */
static void a_rehearsal_that_fails_leaves_nothing(void **state)
{
    (void)state;
    static const char *const sources[] = {"triton: both die", "triton: garbled", "triton: large"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        static struct grade g;
        open_grade(&g, sources[i]);
        rehearsal_run(&g);
        assert_int_equal(g.seeds[0].size, 0);
        assert_int_equal(g.seeds[1].size, 0);
        close_grade(&g);
    }
    static struct grade g;
    open_grade(&g, "triton: hidden fails");
    rehearsal_run(&g);
    assert_true(g.seeds[0].size > 0);
    assert_int_equal(g.seeds[1].size, 0);
    close_grade(&g);
}

/* What does not compile is not tried again on the device; a process that has heard of hidden dims says nothing. */
static void what_does_not_compile_ends_the_grade(void **state)
{
    (void)state;
    static struct grade g;
    open_grade(&g, "torch.utils.cpp_extension, broken");
    assert_int_equal(rehearsal_run(&g), -1);
    assert_int_equal(g.finding.verdict, KGRADE_BUILD_FAILED);
    assert_string_equal(g.finding.reason.code, "python_import_failed");
    assert_string_equal(g.finding.reason.message, "no C++");
    assert_non_null(strstr(g.finding.log, "expected a semicolon"));
    finding_free(&g.finding);
    close_grade(&g);
    open_grade(&g, "torch.utils.cpp_extension, broken when hidden");
    assert_int_equal(rehearsal_run(&g), 0);
    close_grade(&g);
}

static void without_a_spare_there_is_seldom_one(void **state)
{
    (void)state;
    static struct grade g;
    open_grade(&g, "import triton");
    spares_end(g.slot);
    rehearsal_run(&g);
    assert_int_equal(g.seeds[0].size, 0);
    close_grade(&g);

    /* But for what takes longer than starting one. */
    open_grade(&g, "torch.utils.cpp_extension");
    spares_end(g.slot);
    rehearsal_run(&g);
    assert_true(g.seeds[0].size > 0);
    close_grade(&g);
}

static int install_program(void **state)
{
    static const char *const empty[] = {"kgrade-record-opencl-python.so", "kgrade-python-opencl.py",
                                        "kgrade-python-boot.py"};
    char path[256];
    if (set_up(state))
        return -1;
    device = opencl_as(false, true);
    device.rehearsal = PROGRAM;
    for (size_t i = 0; i <= sizeof empty / sizeof empty[0]; i++) {
        bool is_program = i == sizeof empty / sizeof empty[0];
        snprintf(path, sizeof path, "%s/libexec/kgrade/%s", folder,
                 is_program ? PROGRAM : empty[i]);
        assert_int_equal(io_write_file(path, program, is_program ? strlen(program) : 0, NULL), 0);
        assert_int_equal(chmod(path, 0644), 0);
    }
    engine = open_engine_with((kgrade_options){.python = INTERPRETER});
    put_device(engine, &device);
    return 0;
}

static int close_all(void **state)
{
    kgrade_close(engine);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_rehearsed_by_itself),
        cmocka_unit_test(what_compiles_nothing_is_not_rehearsed),
        cmocka_unit_test(a_rehearsal_that_fails_leaves_nothing),
        cmocka_unit_test(what_does_not_compile_ends_the_grade),
        cmocka_unit_test(without_a_spare_there_is_seldom_one),
    };
    if (!device_find("opencl") || access(INTERPRETER, X_OK)) {
        print_message("skipped: this build has no OpenCL device, or there is no " INTERPRETER "\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, install_program, close_all);
}
