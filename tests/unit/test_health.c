/*
 * Health of a device: checks, quarantine, and whose turn it is.  The device is OpenCL's; it is broken by putting another
 * program in the place of its replayer, in an installation of the test's own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "grader/grade/grade.h"
#include "grader/grade/health.h"
#include "grader/grade/jails.h"
#include "grader/grade/slot.h"
#include "grader/grade/workers.h"
#include "sandbox/base/io.h"

#define SKIPPED 77
#define TASK "vector_add"
#define PATIENCE_NS (60 * IO_NS_PER_S)

static char folder[64];

static void copy_program(const char *from, const char *name)
{
    char path[256];
    struct bytes data = {0};
    assert_int_equal(io_read_file(from, 1u << 30, &data, NULL), 0);
    snprintf(path, sizeof path, "%s/libexec/kgrade/%s", folder, name);
    assert_int_equal(io_write_file(path, data.data, data.size, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    bytes_free(&data);
}

static void install(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libexec/kgrade/%s", KGRADE_BUILD_DIR, name);
    copy_program(path, name);
}

/* Vector addition with cases that take no time. */
static void make_task(void)
{
    static const char *const parts[] = {"statement.md", "reference.c", "baseline.opencl.c"};
    char path[256], original[4096];
    snprintf(path, sizeof path, "%s/tasks/" TASK, folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    json_t *task = json_load_file(KGRADE_SOURCE_DIR "/tasks/" TASK "/task.json", 0, NULL);
    assert_int_equal(json_object_set_new(task, "cases",
                                         json_pack("{s:[{s:i}, {s:i}], s:[{s:i}]}", "correctness",
                                                   "n", 1000, "n", 31, "benchmark", "n", 65536)),
                     0);
    snprintf(path, sizeof path, "%s/tasks/" TASK "/task.json", folder);
    assert_int_equal(json_dump_file(task, path, 0), 0);
    json_decref(task);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(original, sizeof original, "%s/tasks/" TASK "/%s", KGRADE_SOURCE_DIR, parts[i]);
        snprintf(path, sizeof path, "%s/tasks/" TASK "/%s", folder, parts[i]);
        assert_int_equal(symlink(original, path), 0);
    }
}

static void break_device(void)
{
    copy_program("/usr/bin/false", "kgrade-replay-opencl");
}

static void mend_device(void)
{
    install("kgrade-replay-opencl");
}

static int set_up(void **state)
{
    (void)state;
    static const char *const programs[] = {"kgrade-spawner", "kgrade-record-opencl",
                                           "kgrade-replay-opencl", "kgrade-judge-opencl"};
    char path[128];
    strcpy(folder, "/tmp/test-health.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libexec/kgrade", folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        install(programs[i]);
    make_task();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

static kgrade *open_engine(bool keep_spares)
{
    char tasks[128];
    snprintf(tasks, sizeof tasks, "%s/tasks", folder);
    const kgrade_options options = {.prefix = folder,
                                    .tasks = tasks,
                                    .allow_reduced = true,
                                    .keep_spares = keep_spares,
                                    .max_samples = 20,
                                    .max_seconds = 0.2};
    kgrade *engine = NULL;
    kgrade_error err = {.code = ""};
    if (kgrade_open(&options, &engine, &err))
        fail_msg("%s: %s", err.code, err.message);
    return engine;
}

static bool never(void *data)
{
    (void)data;
    return false;
}

static json_t *health(kgrade *engine, bool now)
{
    char *text = NULL;
    if (now)
        assert_int_equal(kgrade_health_check(engine, "opencl", NULL, NULL, NULL), 0);
    assert_int_equal(kgrade_health(engine, "opencl", &text, NULL), 0);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static bool flag(kgrade *engine, const char *name)
{
    json_t *json = health(engine, false);
    bool set = json_is_true(json_object_get(json, name));
    json_decref(json);
    return set;
}

static json_int_t faults(kgrade *engine)
{
    json_t *json = health(engine, false);
    json_int_t n = json_integer_value(json_object_get(json, "faults"));
    json_decref(json);
    return n;
}

static bool was_checked(kgrade *engine)
{
    json_t *json = health(engine, false);
    bool checked = json_is_string(json_object_get(json, "checked_at"));
    assert_true(checked == json_is_real(json_object_get(json, "took_ms")));
    json_decref(json);
    return checked;
}

/* --- grades --- */

static char *honest_source(const char *more)
{
    struct bytes source = {0};
    assert_int_equal(io_read_file(KGRADE_SOURCE_DIR "/tasks/" TASK "/baseline.opencl.c", 1u << 20,
                                  &source, NULL),
                     0);
    char *text = malloc(source.size + strlen(more) + 1);
    memcpy(text, source.data, source.size);
    strcpy(text + source.size, more);
    bytes_free(&source);
    return text;
}

#define CRASH "\n__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n"

/* The result, on a device that need not be registered. */
static json_t *grade_on(kgrade *engine, const struct device *device, const char *more)
{
    char *source = honest_source(more);
    const kgrade_request request = {
        .source = source, .source_size = strlen(source), .id = "0123456789abcdef0123456789abcdef"};
    kgrade_result *result = NULL;
    kgrade_error err = {.code = ""};
    if (grade_source(engine, task_set_find(engine->tasks, TASK), device, &device->languages[0],
                     &request, NULL, NULL, &result, &err))
        fail_msg("%s: %s", err.code, err.message);
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    kgrade_result_free(result);
    free(source);
    assert_string_equal(json_string_value(json_object_get(json, "id")),
                        "0123456789abcdef0123456789abcdef");
    return json;
}

static void assert_right(kgrade *engine, const struct device *device)
{
    json_t *json = grade_on(engine, device, "");
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    /* A busy machine is not what is tested here. */
    if (strcmp(verdict, "accepted") && strcmp(verdict, "unresolved") && strcmp(verdict, "suspect"))
        fail_msg("%s: %s", verdict,
                 json_string_value(json_object_get(json_object_get(json, "reason"), "message")));
    json_decref(json);
}

/* Returns whether the compiler ran. */
static bool assert_fails(kgrade *engine, const struct device *device, const char *more,
                         const char *verdict, const char *code)
{
    json_t *json = grade_on(engine, device, more);
    const json_t *reason = json_object_get(json, "reason");
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), verdict);
    if (code)
        assert_string_equal(json_string_value(json_object_get(reason, "code")), code);
    if (!strcmp(verdict, "infrastructure_error"))
        assert_true(json_is_true(json_object_get(reason, "retryable")));
    bool built = json_number_value(json_object_get(json_object_get(json, "steps"), "build_ms")) > 0;
    json_decref(json);
    return built;
}

static void set_checked(kgrade *engine, const struct device *device, uint64_t ns)
{
    struct device_slot *slot = engine_slot(engine, device);
    pthread_mutex_lock(&slot->lock);
    slot->health.checked_ns = ns;
    pthread_mutex_unlock(&slot->lock);
}

/* As if the last check had been longer ago ... */
static void let_time_pass(kgrade *engine, const struct device *device)
{
    set_checked(engine, device, io_now() - HEALTH_RETRY_NS);
}

/* ... or just now. */
static void let_no_time_pass(kgrade *engine, const struct device *device)
{
    set_checked(engine, device, io_now());
}

/* --- checks --- */

static void a_check_shows_that_the_device_works(void **state)
{
    (void)state;
    kgrade *engine = open_engine(false);
    json_t *json = health(engine, false);
    assert_true(json_is_false(json_object_get(json, "ok")));
    assert_true(json_is_null(json_object_get(json, "checked_at")));
    assert_true(json_is_null(json_object_get(json, "reason")));
    json_decref(json);
    for (int i = 0; i < 3; i++) {
        json = health(engine, true);
        print_message("check %d: %.0f ms\n", i,
                      json_number_value(json_object_get(json, "took_ms")));
        assert_true(json_is_true(json_object_get(json, "ok")));
        assert_true(json_is_false(json_object_get(json, "quarantined")));
        assert_true(json_is_null(json_object_get(json, "reason")));
        assert_string_equal(json_string_value(json_object_get(json, "device")), "opencl");
        json_decref(json);
    }
    assert_int_equal(faults(engine), 0);
    kgrade_error err;
    char *text;
    assert_int_equal(kgrade_health(engine, "abacus", &text, &err), -1);
    assert_string_equal(err.code, "unknown_device");
    assert_int_equal(kgrade_health_check(engine, NULL, NULL, NULL, &err), -1);
    assert_string_equal(err.code, "unknown_device");
    /* Stopped before it has begun, a check says nothing. */
    assert_int_equal(kgrade_health_check(engine, "opencl", never, NULL, &err), -1);
    assert_string_equal(err.code, "cancelled");
    json = health(engine, false);
    assert_true(json_is_true(json_object_get(json, "ok")));
    json_decref(json);
    kgrade_close(engine);
}

static void a_crash_of_a_process_says_nothing_about_a_device_of_processes(void **state)
{
    (void)state;
    const struct device *opencl = device_find("opencl");
    kgrade *engine = open_engine(true);
    assert_fails(engine, opencl, CRASH, "runtime_error", "crashed_at_load");
    assert_int_equal(faults(engine), 0);
    assert_false(was_checked(engine));
    assert_right(engine, opencl);
    assert_false(was_checked(engine));
    kgrade_close(engine);
}

static void a_device_that_does_not_work_is_quarantined_until_it_does(void **state)
{
    (void)state;
    const struct device *opencl = device_find("opencl");
    kgrade *engine = open_engine(true);
    assert_right(engine, opencl);
    break_device();
    assert_fails(engine, opencl, "", "infrastructure_error", "worker_died");
    assert_true(flag(engine, "quarantined"));
    assert_false(flag(engine, "ok"));
    assert_int_equal(faults(engine), 1);
    json_t *json = health(engine, false);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "reason"), "code")),
                        "worker_died");
    json_decref(json);

    mend_device();
    /* Nothing is tried so soon, and nothing compiled. */
    let_no_time_pass(engine, opencl);
    assert_false(
        assert_fails(engine, opencl, "/**/", "infrastructure_error", "device_quarantined"));
    let_no_time_pass(engine, opencl);
    json = health(engine, true);
    assert_true(json_is_true(json_object_get(json, "quarantined")));
    json_decref(json);

    break_device();
    let_time_pass(engine, opencl);
    assert_false(
        assert_fails(engine, opencl, "/**/", "infrastructure_error", "device_quarantined"));
    assert_int_equal(faults(engine), 1);

    mend_device();
    let_time_pass(engine, opencl);
    assert_right(engine, opencl); /* the first to ask brings it back */
    assert_true(flag(engine, "ok"));
    assert_false(flag(engine, "quarantined"));

    break_device();
    json = health(engine, true); /* an operator sees it without a grade */
    assert_true(json_is_true(json_object_get(json, "quarantined")));
    json_decref(json);
    mend_device();
    let_time_pass(engine, opencl);
    json = health(engine, true);
    assert_true(json_is_true(json_object_get(json, "ok")));
    json_decref(json);
    kgrade_close(engine);
}

static void a_device_that_is_not_there_from_the_beginning_is_quarantined(void **state)
{
    (void)state;
    const struct device *opencl = device_find("opencl");
    break_device();
    kgrade *engine = open_engine(true);
    assert_fails(engine, opencl, "", "infrastructure_error", "worker_died");
    let_no_time_pass(engine, opencl);
    assert_fails(engine, opencl, "", "infrastructure_error", "device_quarantined");
    mend_device();
    let_time_pass(engine, opencl);
    assert_right(engine, opencl);
    kgrade_close(engine);
}

/* --- a device on which faults stay --- */

/* OpenCL's, as if it were one. */
static struct device sticky_device(bool start_ahead)
{
    struct device device = *device_find("opencl");
    device.fault_is_sticky = true;
    device.start_ahead = start_ahead;
    return device;
}

static void put_device(kgrade *engine, const struct device *device)
{
    for (size_t i = 0; i < engine->n_slots; i++)
        if (!strcmp(engine->slots[i].device->name, "opencl"))
            engine->slots[i].device = device;
}

static void where_faults_stay_a_crash_is_followed_by_a_check(void **state)
{
    (void)state;
    for (int ahead = 0; ahead <= 1; ahead++) {
        kgrade *engine = open_engine(true);
        const struct device device = sticky_device(ahead), *opencl = device_find("opencl");
        put_device(engine, &device);
        assert_fails(engine, &device, CRASH, "runtime_error", NULL);
        put_device(engine, opencl);
        assert_true(was_checked(engine)); /* at once: somebody may come */
        assert_true(flag(engine, "ok"));
        assert_int_equal(faults(engine), 1);
        put_device(engine, &device);
        if (ahead)
            assert_right(engine, &device);
        assert_fails(engine, &device, "\n#error no\n", "build_failed", NULL);
        put_device(engine, opencl);
        assert_int_equal(faults(engine), 1);
        kgrade_close(engine);
    }
}

static void without_spares_the_next_grade_makes_the_check(void **state)
{
    (void)state;
    kgrade *engine = open_engine(false);
    const struct device device = sticky_device(false), *opencl = device_find("opencl");
    put_device(engine, &device);
    assert_fails(engine, &device, CRASH, "runtime_error", NULL);
    put_device(engine, opencl);
    assert_true(flag(engine, "suspect"));
    assert_false(was_checked(engine));
    put_device(engine, &device);
    assert_right(engine, &device);
    put_device(engine, opencl);
    assert_true(was_checked(engine));
    assert_true(flag(engine, "ok"));

    put_device(engine, &device);
    assert_fails(engine, &device, CRASH, "runtime_error", NULL);
    break_device();
    assert_fails(engine, &device, "", "infrastructure_error", "device_quarantined");
    mend_device();
    kgrade_close(engine);
}

/* --- turns --- */

static struct device_slot slot;
static atomic_uint n_served;
static unsigned served[8];
static atomic_bool gives_up;

static bool unless_given_up(void *data)
{
    (void)data;
    return !atomic_load(&gives_up);
}

static void *wait_for_turn(void *data)
{
    unsigned number = *(unsigned *)data;
    if (number == 2) /* the one that gives up */
        jails_ask_while_waiting(unless_given_up, NULL);
    if (slot_take(&slot))
        return NULL;
    served[atomic_fetch_add(&n_served, 1)] = number;
    slot_give(&slot);
    return &slot;
}

/* The first member of a waiter is the next one. */
static unsigned n_waiting(void)
{
    unsigned n = 0;
    pthread_mutex_lock(&slot.lock);
    for (void **w = (void **)slot.waiters; w; w = *w)
        n++;
    pthread_mutex_unlock(&slot.lock);
    return n;
}

static void the_device_goes_to_who_came_first(void **state)
{
    (void)state;
    enum { N = 6 };
    pthread_t threads[N];
    unsigned numbers[N];
    slot_init(&slot, device_find("opencl"));
    assert_int_equal(slot_take(&slot), 0);
    for (unsigned i = 0; i < N; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_turn, &numbers[i]), 0);
        uint64_t deadline = io_now() + PATIENCE_NS;
        while (n_waiting() < i + 1 && io_now() < deadline)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(n_waiting(), i + 1);
    }
    atomic_store(&gives_up, true);
    void *result = &slot;
    pthread_join(threads[2], &result);
    assert_null(result);
    assert_int_equal(n_waiting(), N - 1);
    slot_give(&slot);
    for (unsigned i = 0; i < N; i++)
        if (i != 2)
            pthread_join(threads[i], NULL);
    static const unsigned order[] = {0, 1, 3, 4, 5};
    assert_int_equal(atomic_load(&n_served), N - 1);
    assert_memory_equal(served, order, sizeof order);
    assert_int_equal(slot_take(&slot), 0); /* nobody holds it any more */
    slot_give(&slot);
    slot_destroy(&slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_goes_to_who_came_first),
        cmocka_unit_test(a_check_shows_that_the_device_works),
        cmocka_unit_test(a_crash_of_a_process_says_nothing_about_a_device_of_processes),
        cmocka_unit_test(a_device_that_does_not_work_is_quarantined_until_it_does),
        cmocka_unit_test(a_device_that_is_not_there_from_the_beginning_is_quarantined),
        cmocka_unit_test(where_faults_stay_a_crash_is_followed_by_a_check),
        cmocka_unit_test(without_spares_the_next_grade_makes_the_check),
    };
    if (!device_find("opencl")) {
        print_message("skipped: this build has no OpenCL device\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
