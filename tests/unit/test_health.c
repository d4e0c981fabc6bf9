/*
 * Health of a device: checks, quarantine, and whose turn it is.  The device is OpenCL's; it is broken by putting another
 * program in the place of its replayer, in an installation of the test's own.
 */
#include "engine_help.h"

#include "grader/grade/health.h"
#include "grader/grade/jails.h"

static void break_device(void)
{
    copy_program("/usr/bin/false", "kgrade-replay-opencl");
}

static void mend_device(void)
{
    install("kgrade-replay-opencl");
}

static kgrade *open_engine(bool keep_spares)
{
    return open_engine_with((kgrade_options){.keep_spares = keep_spares});
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

#define CRASH "\n__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n"

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

static void where_faults_stay_a_crash_is_followed_by_a_check(void **state)
{
    (void)state;
    for (int ahead = 0; ahead <= 1; ahead++) {
        kgrade *engine = open_engine(true);
        const struct device device = opencl_as(true, ahead), *opencl = device_find("opencl");
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
    const struct device device = opencl_as(true, false), *opencl = device_find("opencl");
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

static atomic_uint n_beside, most_beside;

static void *share(void *data)
{
    (void)data;
    if (slot_share(&slot))
        return NULL;
    unsigned n = atomic_fetch_add(&n_beside, 1) + 1, most = atomic_load(&most_beside);
    while (most < n && !atomic_compare_exchange_weak(&most_beside, &most, n))
        ;
    while (atomic_load(&most_beside) < 2) /* there is another one */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_fetch_sub(&n_beside, 1);
    slot_give(&slot);
    return &slot;
}

static void *be_alone(void *data)
{
    (void)data;
    if (slot_take(&slot))
        return NULL;
    bool alone = atomic_load(&n_beside) == 0;
    slot_give(&slot);
    return alone ? &slot : NULL;
}

static void await_line(unsigned n)
{
    uint64_t deadline = io_now() + PATIENCE_NS;
    while (n_waiting() < n && io_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(n_waiting(), n);
}

/* Those that share the device come in together; one that does not waits for them, and they for it. */
static void a_device_can_be_shared(void **state)
{
    (void)state;
    enum { N = 5 };
    static void *(*const roles[N])(void *data) = {share, share, be_alone, share, share};
    pthread_t threads[N];
    slot_init(&slot, device_find("opencl"));
    assert_int_equal(slot_take(&slot), 0);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, roles[i], NULL), 0);
        await_line(i + 1);
    }
    slot_give(&slot);
    for (unsigned i = 0; i < N; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &slot);
    }
    assert_int_equal(atomic_load(&most_beside), 2);

    /* Who loses patience is in nobody's way any more. */
    pthread_t patient, impatient;
    unsigned number = 2;
    atomic_store(&gives_up, false);
    assert_int_equal(slot_share(&slot), 0);
    assert_int_equal(pthread_create(&impatient, NULL, wait_for_turn, &number), 0);
    await_line(1);
    assert_int_equal(pthread_create(&patient, NULL, share, NULL), 0);
    await_line(2);
    atomic_store(&gives_up, true);
    pthread_join(impatient, NULL);
    pthread_join(patient, NULL);
    slot_give(&slot);
    assert_int_equal(slot_take(&slot), 0);
    slot_give(&slot);
    slot_destroy(&slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_goes_to_who_came_first),
        cmocka_unit_test(a_device_can_be_shared),
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
