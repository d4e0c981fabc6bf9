/* What a judge may compute in one grade: answers that are each in time come to an end together.  The judge is OpenCL's, the
 * task's reference sleeps. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "grader/judge/judge.h"
#include "sandbox/base/io.h"

#define SKIPPED 77
#define SLEEP_NS (100 * IO_NS_PER_MS)
#define ANSWERS 5u
#define BUDGET_NS (ANSWERS * SLEEP_NS)

static const char task_json[] =
    "{\"name\": \"slow\", \"title\": \"Slow\", \"entry\": \"slow\", \"parameters\": ["
    "{\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f32\", \"shape\": [\"n\"],"
    " \"values\": {\"distribution\": \"uniform\", \"scale\": 1, \"offset\": 0}},"
    "{\"name\": \"y\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": [\"n\"]},"
    "{\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i32\"}],"
    " \"cases\": {\"correctness\": [{\"n\": 8}], \"benchmark\": [{\"n\": 8}]},"
    " \"tolerance\": {\"f32\": {\"absolute\": 0, \"relative\": 1e-6, \"norm\": 1e-6,"
    " \"why\": \"It is copied.\"}}, \"roofline\": {\"bytes\": \"8 * n\", \"operations\": \"0\"}}";

/* SLEEP_NS */
static const char reference[] =
    "#define _GNU_SOURCE\n#include <stdint.h>\n#include <time.h>\n"
    "void reference(const double *x, double *y, int64_t n)\n{\n"
    "    struct timespec left = {0, 100000000};\n    while (nanosleep(&left, &left))\n        ;\n"
    "    for (int64_t i = 0; i < n; i++)\n        y[i] = x[i];\n}\n";

static struct {
    char folder[64];
    kgrade *engine;
    struct task_set *tasks;
    const struct task *task;
    int arena;
} scene = {.arena = -1};

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/slow/%s", scene.folder, name);
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
}

static int make_task(void **state)
{
    (void)state;
    char path[128];
    strcpy(scene.folder, "/tmp/test-judge.XXXXXX");
    assert_non_null(mkdtemp(scene.folder));
    snprintf(path, sizeof path, "%s/slow", scene.folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    put("task.json", task_json);
    put("statement.md", "Copy x to y.\n");
    put("reference.c", reference);
    return 0;
}

static int remove_task(void **state)
{
    (void)state;
    return io_remove_tree(scene.folder, NULL);
}

/* budget_s 0: the default */
static void open_engine(double budget_s)
{
    const kgrade_options options = {.prefix = KGRADE_BUILD_DIR,
                                    .tasks = scene.folder,
                                    .allow_reduced = true,
                                    .judge_budget_s = budget_s};
    kgrade_error err = {.code = ""};
    if (kgrade_open(&options, &scene.engine, &err))
        fail_msg("%s: %s", err.code, err.message);
    scene.tasks = engine_tasks(scene.engine);
    scene.task = task_set_find(scene.tasks, "slow");
    struct layout layout;
    assert_int_equal(task_layout(scene.task, scene.task->cases[0].dims, &layout, &err), 0);
    scene.arena = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(scene.arena, (off_t)layout.bytes), 0);
    assert_int_equal(fcntl(scene.arena, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
}

static int close_engine(void **state)
{
    (void)state;
    close(scene.arena);
    task_set_unref(scene.tasks);
    kgrade_close(scene.engine);
    return 0;
}

static int open_judge(struct judge_client *judge, struct finding *f)
{
    return judge_open(scene.engine, device_find("opencl"), "", scene.task, scene.arena, judge, f);
}

/* How often it answered, at most `most` times; *ret_failed: and then no more. */
static unsigned ask(struct judge_client *judge, unsigned most, bool *ret_failed, struct finding *f)
{
    unsigned n = 0;
    *ret_failed = open_judge(judge, f) != 0;
    while (!*ret_failed && n < most) {
        *ret_failed =
            judge_answer(judge, scene.task, &scene.task->cases[0], n, NULL, scene.arena, f) != 0;
        n += !*ret_failed;
    }
    return n;
}

static void assert_too_slow(struct finding *f)
{
    assert_int_equal(f->verdict, KGRADE_INFRASTRUCTURE_ERROR);
    assert_string_equal(f->reason.code, "judging_too_slow");
    assert_non_null(strstr(f->reason.message, "0.5 seconds"));
    assert_true(f->reason.hint[0]);
    assert_false(f->retryable);
    finding_free(f);
}

static void answers_share_a_budget(void **state)
{
    (void)state;
    cleanup_judge struct judge_client judge = JUDGE_NONE;
    struct finding f = {.log = NULL};
    bool failed;
    open_engine((double)BUDGET_NS / (double)IO_NS_PER_S);
    assert_in_range(ask(&judge, 10 * ANSWERS, &failed, &f), 0, ANSWERS);
    assert_true(failed);
    assert_too_slow(&f);
    /* So do those of the judge that comes next in the same grade. */
    judge_close(&judge);
    assert_int_equal(open_judge(&judge, &f), -1);
    assert_too_slow(&f);
}

static void by_default_it_is_larger(void **state)
{
    (void)state;
    cleanup_judge struct judge_client judge = JUDGE_NONE;
    struct finding f = {.log = NULL};
    bool failed;
    open_engine(0);
    unsigned n = ask(&judge, 2 * ANSWERS, &failed, &f);
    if (failed)
        fail_msg("%s: %s", f.reason.code, f.reason.message);
    assert_int_equal(n, 2 * ANSWERS);
    assert_true(judge.used_ns >= 2 * BUDGET_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(answers_share_a_budget, close_engine),
        cmocka_unit_test_teardown(by_default_it_is_larger, close_engine),
    };
    if (!device_find("opencl")) {
        print_message("skipped: this build has no OpenCL device\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, make_task, remove_task);
}
