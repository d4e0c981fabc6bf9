/* Profiles as libkgrade gives them: within a grade, and what is asked of one. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "grader/profile/profile.h"
#include "grader/profile/worker.h"
#include "sandbox/base/cleanup.h"

#define SKIPPED 77

/* Nothing is compiled or launched: it is refused at once, and its calls are profiled all the same. */
static const char source[] = "void vector_add(void) {}\n";

static const kgrade_request request = {.task = "vector_add",
                                       .device = "opencl",
                                       .source = source,
                                       .source_size = sizeof source - 1,
                                       .profile = true};

static int open_engine(void **state)
{
    const kgrade_options options = {.prefix = KGRADE_BUILD_DIR,
                                    .tasks = KGRADE_SOURCE_DIR "/tasks",
                                    .allow_reduced = true,
                                    .force_reduced = true};
    kgrade *engine = NULL;
    kgrade_error error = {.code = ""};
    if (kgrade_open(&options, &engine, &error))
        fail_msg("%s: %s", error.code, error.message);
    *state = engine;
    return 0;
}

static int close_engine(void **state)
{
    kgrade_close(*state);
    return 0;
}

static struct {
    char last[32];
    unsigned profiling, done, after_done;
} heard;

static bool listen(void *data, const char *step, unsigned done, unsigned total)
{
    (void)data, (void)done, (void)total;
    heard.after_done += heard.done > 0;
    heard.done += !strcmp(step, "done");
    heard.profiling += !strcmp(step, "profiling");
    snprintf(heard.last, sizeof heard.last, "%s", step);
    return true;
}

/* It is done when the profile is, not when the grade is. */
static void test_done_comes_last(void **state)
{
    kgrade_result *result = NULL;
    kgrade_error error = {.code = ""};
    if (kgrade_grade(*state, &request, listen, NULL, &result, &error))
        fail_msg("%s: %s", error.code, error.message);
    json_auto_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    const json_t *report = json_object_get(json, "profile");
    assert_int_equal(kgrade_result_verdict(result), KGRADE_REFUSED);
    kgrade_result_free(result);
    assert_non_null(report);
    assert_true(json_is_null(json_object_get(report, "reason")));
    assert_true(json_array_size(json_object_get(report, "rows")) > 0);
    assert_true(heard.profiling > 0);
    assert_string_equal(heard.last, "done");
    assert_int_equal(heard.done, 1);
    assert_int_equal(heard.after_done, 0);
}

static void test_options_have_limits(void **state)
{
    static const kgrade_profile_options bad[] = {{.processes = PROFILE_MAX_PROCESSES + 1},
                                                 {.budget_ms = PROFILE_MAX_BUDGET_MS + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *report = NULL;
        kgrade_error error = {.code = ""};
        assert_int_equal(kgrade_profile(*state, &request, &bad[i], NULL, NULL, &report, &error),
                         -1);
        assert_string_equal(error.code, "bad_profile_options");
        assert_null(report);
    }
}

int main(void)
{
    if (!device_find("opencl")) {
        print_message("skipped: this build has no OpenCL device\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_done_comes_last, open_engine, close_engine),
        cmocka_unit_test_setup_teardown(test_options_have_limits, open_engine, close_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
