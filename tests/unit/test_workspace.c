/* How much device memory a candidate may allocate. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/grade/spec.h"
#include "sample_task.h"

#define WORKSPACE 4096u /* sample_task.h's */
#define FRAMEWORKS (512ull << 20)

static const struct device_language languages[] = {
    {"cuda", "candidate.cu", "baseline.cuda.cu", NULL, false},
    {"python", "candidate.py", NULL, NULL, true},
    {NULL, NULL, NULL, NULL, false},
};

static uint64_t workspace(const struct device *device, bool python)
{
    cleanup_task struct task *task = NULL;
    assert_int_equal(parse(good, &task, NULL), 0);
    return spec_workspace(device, task, python);
}

static void compiled_candidates_get_the_tasks(void **state)
{
    (void)state;
    const struct device device = {
        .name = "cuda", .languages = languages, .framework_bytes = FRAMEWORKS};
    assert_int_equal(workspace(&device, false), WORKSPACE);
}

static void python_gets_room_for_frameworks_and_tensors(void **state)
{
    (void)state;
    const struct device device = {
        .name = "cuda", .languages = languages, .framework_bytes = FRAMEWORKS};
    cleanup_task struct task *task = NULL;
    uint64_t largest;
    assert_int_equal(parse(good, &task, NULL), 0);
    assert_int_equal(task_largest(task, task->cases, task->n_cases, &largest, NULL), 0);
    assert_int_equal(spec_workspace(&device, task, true), WORKSPACE + FRAMEWORKS + 3 * largest);
}

static void a_baseline_in_python_makes_room_for_all(void **state)
{
    (void)state;
    const struct device device = {
        .name = "cuda", .languages = languages, .framework_bytes = FRAMEWORKS};
    cleanup_task struct task *task = NULL;
    assert_int_equal(parse(good, &task, NULL), 0);
    struct task_file *files = calloc(2, sizeof *files);
    assert_non_null(files);
    task->files = files; /* freed with the task */
    strcpy(files[0].name, "baseline.cuda.py");
    task->n_files = 1;
    assert_true(spec_workspace(&device, task, false) > FRAMEWORKS);
    strcpy(files[1].name, "baseline.cuda.cu");
    task->n_files = 2;
    assert_int_equal(spec_workspace(&device, task, false), WORKSPACE);
    task->python = json_object();
    assert_true(spec_workspace(&device, task, false) > FRAMEWORKS);
}

static void a_device_without_frameworks_gives_no_more(void **state)
{
    (void)state;
    const struct device device = {.name = "cuda", .languages = languages, .framework_bytes = 0};
    assert_int_equal(workspace(&device, true), WORKSPACE);
}

static void there_is_a_limit(void **state)
{
    (void)state;
    const struct device device = {
        .name = "cuda", .languages = languages, .framework_bytes = TASK_MAX_CASE_BYTES};
    assert_int_equal(workspace(&device, true), TASK_MAX_CASE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_candidates_get_the_tasks),
        cmocka_unit_test(python_gets_room_for_frameworks_and_tensors),
        cmocka_unit_test(a_baseline_in_python_makes_room_for_all),
        cmocka_unit_test(a_device_without_frameworks_gives_no_more),
        cmocka_unit_test(there_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
