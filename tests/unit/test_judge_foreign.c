/* What the judge does with the answers of a foreign task's Python, which is played here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/judge/foreign.h"
#include "grader/judge/host.h"
#include "grader/task/values.h"
#include "sandbox/base/cleanup.h"

#define N 5

static const char text[] =
    "{\"name\": \"far\", \"title\": \"Far\", \"entry\": \"f\", \"python\": {\"form\": \"data\","
    " \"files\": [\"a.py\"], \"inputs\": \"make\", \"reference\": \"answer\", \"seed\": 1,"
    " \"double\": true, \"variants\": [{\"inputs\": {}, \"data\": {}, \"outputs\": {}}]},"
    " \"parameters\": [{\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f32\", \"shape\": [\"5\"]},"
    " {\"name\": \"y\", \"kind\": \"in\", \"dtype\": \"f32\", \"shape\": [\"5\"]},"
    " {\"name\": \"z\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": [\"5\"]},"
    " {\"name\": \"variant\", \"kind\": \"dim\", \"dtype\": \"i64\"}],"
    " \"cases\": {\"correctness\": [{\"variant\": 0}], \"benchmark\": [{\"variant\": 0}]},"
    " \"tolerance\": {\"f32\": {\"absolute\": 0, \"relative\": 1e-6, \"norm\": 1e-6}},"
    " \"roofline\": {\"bytes\": \"20\", \"operations\": \"0\"}}";

static struct {
    struct task *task;
    struct host_reference reference;
    struct judge_case c;
    float *x, *y, *z; /* in data */
    uint8_t *data;    /* a right answer */
    /* How the Python behaves. */
    unsigned drifts; /* added at each making of inputs */
    unsigned made;
    bool has_check, check_says;
    bool fails;
    /* The device, whose memory is the host's here. */
    bool on_device;
    uint8_t *kept;
    size_t room;      /* pieces of memory that it has left */
    size_t taken;     /* that were not given back */
    unsigned refuses; /* so many calls of the Python that need its memory */
    unsigned trims;   /* when nothing was left on it */
} scene;

static float *at(const uint8_t *base, size_t buffer)
{
    return (float *)(uintptr_t)(base + scene.c.layout.buffers[buffer].offset);
}

static int refuse(kgrade_error *err)
{
    snprintf(err->code, sizeof err->code, "reference_failed");
    return -1;
}

static int no_memory(kgrade_error *err)
{
    snprintf(err->code, sizeof err->code, "judge_memory");
    return -1;
}

static int load(const struct task *task, const char *files, kgrade_error *err)
{
    assert_ptr_equal(task, scene.task);
    return strcmp(files, "files") ? refuse(err) : 0;
}

static int inputs(const struct task *task, const struct judge_case *c, uint64_t seed,
                  bool on_device, uint8_t *to, kgrade_error *err)
{
    (void)task, (void)c, (void)err;
    assert_int_equal(on_device, scene.on_device);
    if (scene.refuses && scene.refuses--)
        return no_memory(err);
    for (size_t i = 0; i < N; i++) {
        at(to, 0)[i] = (float)(seed + i + scene.drifts * scene.made);
        at(to, 1)[i] = (float)(10 * seed + i) + 0.5f;
    }
    scene.made++;
    return 0;
}

/* z = x + y */
static int evaluate(const struct task *task, const struct judge_case *c, bool on_device,
                    const uint8_t *from, void *const *wide, kgrade_error *err)
{
    (void)task, (void)c;
    assert_int_equal(on_device, scene.on_device);
    if (scene.fails)
        return refuse(err);
    assert_null(wide[0]);
    for (size_t i = 0; i < N; i++)
        ((double *)wide[2])[i] = (double)at(from, 0)[i] + (double)at(from, 1)[i];
    return 0;
}

static int check(const struct task *task, const struct judge_case *c, bool on_device,
                 const uint8_t *from, const uint8_t *outputs, bool *ret_decided, bool *ret_pass,
                 kgrade_error *err)
{
    (void)task, (void)c, (void)err;
    assert_int_equal(on_device, scene.on_device);
    assert_true(at(from, 0)[1] == 3 + 1);
    assert_ptr_equal(outputs, on_device ? scene.kept : scene.data);
    *ret_decided = scene.has_check;
    *ret_pass = scene.check_says;
    return 0;
}

static const struct judge_python python = {
    .load = load, .inputs = inputs, .evaluate = evaluate, .check = check};

static int set_up(void **state)
{
    (void)state;
    kgrade_error err;
    memset(&scene, 0, sizeof scene);
    if (task_parse(text, strlen(text), "text", &scene.task, &err) ||
        task_layout(scene.task, scene.c.dims, &scene.c.layout, &err) ||
        host_reference_load_python(&scene.reference, scene.task, &python, "files", &err)) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    scene.c.seed = 3;
    scene.room = SIZE_MAX;
    scene.data = calloc(1, scene.c.layout.bytes);
    if (!scene.data || inputs(scene.task, &scene.c, 3, false, scene.data, &err))
        return -1;
    scene.x = at(scene.data, 0);
    scene.y = at(scene.data, 1);
    scene.z = at(scene.data, 2);
    for (size_t i = 0; i < N; i++)
        scene.z[i] = scene.x[i] + scene.y[i];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    host_reference_free(&scene.reference);
    task_free(scene.task);
    free(scene.data);
    return 0;
}

/* Whether the outputs are right. */
static bool judge(bool *ret_changed, bool *ret_decided, bool *ret_pass)
{
    cleanup_operands struct operands operands = {.n = 0};
    struct comparison comparisons[TASK_MAX_PARAMS];
    kgrade_error err;
    *ret_changed = false;
    assert_int_equal(
        host_evaluate(&scene.reference, &scene.c, scene.data, NULL, &operands, ret_changed, &err),
        0);
    assert_int_equal(host_compare(scene.task, &scene.c, scene.data, &operands, comparisons, &err),
                     0);
    assert_int_equal(
        host_check(&scene.reference, &scene.c, scene.data, &operands, ret_decided, ret_pass, &err),
        0);
    return comparison_passes(&comparisons[2]);
}

static void test_outputs_and_inputs(void **state)
{
    (void)state;
    bool changed, decided, pass;
    assert_true(judge(&changed, &decided, &pass));
    assert_false(changed);
    assert_false(decided);
    scene.z[N - 1] += 1;
    assert_false(judge(&changed, &decided, &pass));
    scene.y[0] += 1;
    judge(&changed, &decided, &pass);
    assert_true(changed);
}

static void test_what_was_not_written(void **state)
{
    (void)state;
    cleanup_operands struct operands operands = {.n = 0};
    struct comparison comparisons[TASK_MAX_PARAMS];
    kgrade_error err;
    bool changed = false;
    assert_int_equal(
        host_evaluate(&scene.reference, &scene.c, scene.data, NULL, &operands, &changed, &err), 0);
    values_poison(scene.z + 1, DTYPE_F32, 1, 2, scene.c.poison, 2);
    assert_int_equal(host_compare(scene.task, &scene.c, scene.data, &operands, comparisons, &err),
                     0);
    assert_int_equal(comparisons[2].bad, 2);
    assert_int_equal(comparisons[2].unwritten, 2);
    scene.z[1] = 1;
    assert_int_equal(host_compare(scene.task, &scene.c, scene.data, &operands, comparisons, &err),
                     0);
    assert_int_equal(comparisons[2].bad, 2);
    assert_int_equal(comparisons[2].unwritten, 1);
}

static void test_a_check_of_its_own(void **state)
{
    (void)state;
    bool changed, decided, pass;
    scene.has_check = scene.check_says = true;
    scene.z[0] += 1;
    assert_false(judge(&changed, &decided, &pass));
    assert_true(decided && pass);
    scene.check_says = false;
    judge(&changed, &decided, &pass);
    assert_true(decided && !pass);
}

/* A generator that gives other inputs each time is nobody's fault but the task's. */
static void test_inputs_that_drift(void **state)
{
    (void)state;
    cleanup_operands struct operands operands = {.n = 0};
    kgrade_error err = {.code = ""};
    bool changed = false;
    scene.drifts = 1;
    assert_int_equal(
        host_evaluate(&scene.reference, &scene.c, scene.data, NULL, &operands, &changed, &err), -1);
    assert_string_equal(err.code, "inputs_random");
}

static void test_answers_from_other_inputs(void **state)
{
    (void)state;
    kgrade_error err;
    cleanup_free uint8_t *arena = calloc(1, scene.c.layout.bytes);
    assert_non_null(arena);
    const struct host_twist other = {1, 4, 0}, rounded = {SIZE_MAX, 0, 2};
    assert_int_equal(host_answer(&scene.reference, &scene.c, NULL, arena, &err), 0);
    assert_memory_equal(at(arena, 2), scene.z, N * sizeof(float));
    assert_int_equal(host_answer(&scene.reference, &scene.c, &other, arena, &err), 0);
    assert_true(at(arena, 2)[1] == scene.x[1] + 41.5f);
    assert_int_equal(host_answer(&scene.reference, &scene.c, &rounded, arena, &err), 0);
    assert_true(at(arena, 2)[0] == 3 + 32); /* 30.5 has six significant bits */
}

static void test_a_reference_that_fails(void **state)
{
    (void)state;
    cleanup_operands struct operands operands = {.n = 0};
    kgrade_error err = {.code = ""};
    struct host_reference other = {.call = NULL};
    bool changed = false;
    scene.fails = true;
    assert_int_equal(
        host_evaluate(&scene.reference, &scene.c, NULL, NULL, &operands, &changed, &err), -1);
    assert_string_equal(err.code, "reference_failed");
    assert_int_equal(host_reference_load_python(&other, scene.task, &python, "none", &err), -1);
    assert_false(host_reference_ready(&other));
}

/* --- on the device --- */

static int arena(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err)
{
    (void)state, (void)err;
    assert_int_equal(bytes, scene.c.layout.bytes);
    *ret = (uint64_t)(uintptr_t)scene.data;
    return 0;
}

static int take(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err)
{
    (void)state;
    if (scene.room == 0)
        return no_memory(err);
    scene.room--;
    scene.taken++;
    uint8_t *memory = calloc(1, bytes);
    assert_non_null(memory);
    *ret = (uint64_t)(uintptr_t)memory;
    return 0;
}

static void give_back(void *state, uint64_t at)
{
    (void)state;
    scene.taken--;
    free((void *)(uintptr_t)at);
}

static int trim(void *state, kgrade_error *err)
{
    (void)state, (void)err;
    assert_int_equal(scene.taken, 0);
    scene.trims++;
    return 0;
}

static int copy(void *state, uint64_t offset, uint64_t bytes, uint64_t to, kgrade_error *err)
{
    (void)state, (void)err;
    memcpy((void *)(uintptr_t)to, scene.data + offset, bytes);
    return 0;
}

static int same(void *state, uint64_t a, uint64_t b, uint64_t bytes, bool *ret, kgrade_error *err)
{
    (void)state, (void)err;
    *ret = !memcmp((const void *)(uintptr_t)a, (const void *)(uintptr_t)b, bytes);
    return 0;
}

static int poison(void *state, const struct task *task, const struct judge_case *c, uint64_t to,
                  kgrade_error *err)
{
    (void)state, (void)err;
    assert_ptr_equal(task, scene.task);
    values_poison((uint8_t *)(uintptr_t)to + c->layout.buffers[2].offset, DTYPE_F32, 0, N,
                  c->poison, 2);
    return 0;
}

static int compare(void *state, enum dtype type, uint64_t got, uint64_t poisoned, uint64_t expected,
                   uint64_t count, const struct tolerance *tolerance, struct comparison *ret,
                   kgrade_error *err)
{
    (void)state, (void)err;
    compare_output(type, (const void *)(uintptr_t)got, (const void *)(uintptr_t)poisoned,
                   (const void *)(uintptr_t)expected, count, tolerance, ret);
    return 0;
}

static int store(uint64_t at, const void *from, uint64_t bytes, kgrade_error *err)
{
    (void)err;
    memcpy((void *)(uintptr_t)at, from, bytes);
    return 0;
}

static int fetch(uint64_t at, uint64_t bytes, void *to, kgrade_error *err)
{
    (void)err;
    memcpy(to, (const void *)(uintptr_t)at, bytes);
    return 0;
}

static const struct judge_memory memory = {arena, take,   give_back, trim,  copy,
                                           same,  poison, compare,   store, fetch};

static struct on_device device(void)
{
    scene.on_device = true;
    return (struct on_device){.memory = &memory, .task = scene.task, .python = &python};
}

/* Returns what on_device_judge does; the figures of the output in *ret. */
static int judge_there(struct comparison *ret, struct on_device_verdict *verdict, kgrade_error *err)
{
    struct on_device d = device();
    struct comparison comparisons[TASK_MAX_PARAMS] = {{.count = 0}};
    uint64_t kept;
    *verdict = (struct on_device_verdict){.decided = false};
    assert_int_equal(on_device_keep(&d, &scene.c, &kept, err), 0);
    scene.kept = (uint8_t *)(uintptr_t)kept;
    assert_memory_equal(at(scene.kept, 2), scene.z, N * sizeof(float));
    int result = on_device_judge(&d, &scene.c, kept, comparisons, verdict, err);
    on_device_drop(&d, kept);
    assert_int_equal(scene.taken, 0);
    *ret = comparisons[2];
    return result;
}

static void test_the_device_judges_as_the_host_does(void **state)
{
    (void)state;
    struct comparison there;
    struct on_device_verdict verdict;
    kgrade_error err;
    assert_int_equal(judge_there(&there, &verdict, &err), 0);
    assert_true(comparison_passes(&there));
    assert_false(verdict.input_changed || verdict.decided);

    values_poison(scene.z + 1, DTYPE_F32, 1, 2, scene.c.poison, 2);
    scene.z[4] = 1;
    assert_int_equal(judge_there(&there, &verdict, &err), 0);
    assert_int_equal(there.bad, 3);
    assert_int_equal(there.unwritten, 2);
    assert_false(verdict.input_changed);

    scene.has_check = scene.check_says = true;
    scene.y[0] += 1; /* the answer stays that of the inputs that were made */
    assert_int_equal(judge_there(&there, &verdict, &err), 0);
    assert_int_equal(there.bad, 3);
    assert_true(verdict.input_changed && verdict.decided && verdict.right);

    scene.drifts = 1;
    assert_int_equal(judge_there(&there, &verdict, &err), -1);
    assert_string_equal(err.code, "inputs_random");
    scene.fails = true;
    scene.drifts = 0;
    assert_int_equal(judge_there(&there, &verdict, &err), -1);
    assert_string_equal(err.code, "reference_failed");
}

static void test_inputs_are_made_in_the_arena(void **state)
{
    (void)state;
    struct on_device d = device();
    kgrade_error err;
    float x = scene.x[0], y = scene.y[N - 1], z = scene.z[1];
    scene.x[0] = scene.y[N - 1] = -1;
    assert_int_equal(on_device_fill(&d, &scene.c, &err), 0);
    assert_true(scene.x[0] == x && scene.y[N - 1] == y && scene.z[1] == z);
}

/* Wherever memory ends: nothing is left behind, and the sample can still be judged on the host. */
static void test_a_device_without_room(void **state)
{
    (void)state;
    struct comparison there;
    struct on_device_verdict verdict;
    struct on_device d = device();
    kgrade_error err = {.code = ""};
    uint64_t kept;
    scene.room = 0;
    assert_int_equal(on_device_keep(&d, &scene.c, &kept, &err), -1);
    assert_string_equal(err.code, "judge_memory");
    scene.z[0] += 1;
    size_t n = 1; /* the case, inputs, the answer, poison */
    for (; scene.room = n, judge_there(&there, &verdict, &err); n++) {
        assert_string_equal(err.code, "judge_memory");
        assert_int_equal(scene.room, 0);
    }
    assert_int_equal(n, 4);
    assert_int_equal(there.bad, 1);

    cleanup_free uint8_t *data = NULL;
    scene.room = 1;
    assert_int_equal(on_device_keep(&d, &scene.c, &kept, &err), 0);
    assert_int_equal(on_device_bring(&d, &scene.c, kept, &data, &err), 0);
    on_device_drop(&d, kept);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(at(data, i), at(scene.data, i), N * sizeof(float));
}

/* A judge's samples of this case: none yet. */
static struct foreign samples(struct snapshot *places)
{
    memset(places, 0, JUDGE_MAX_SNAPSHOTS * sizeof *places);
    for (size_t i = 0; i < JUDGE_MAX_SNAPSHOTS; i++)
        places[i].c = scene.c;
    return (struct foreign){.device = device(), .snapshots = places};
}

static void assert_at_home(const struct snapshot *s)
{
    assert_int_equal(s->kept_whole, 0);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(at(s->data, i), at(scene.data, i), N * sizeof(float));
}

/* Two samples are there when the judging of one finds no room: both move, and the next one stays on the host. */
static void test_samples_move_to_the_host(void **state)
{
    (void)state;
    struct snapshot s[JUDGE_MAX_SNAPSHOTS];
    struct foreign f = samples(s);
    struct comparison comparisons[TASK_MAX_PARAMS];
    bool decided = false, right = false;
    kgrade_error err;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(foreign_keep(&f, &s[i], &err), 0);
    assert_int_equal(scene.taken, 2);
    scene.room = 1;
    assert_int_equal(foreign_compare(&f, &s[1], comparisons, &decided, &right, &err), 0);
    assert_at_home(&s[0]);
    assert_at_home(&s[1]);
    assert_int_equal(scene.trims, 1);

    scene.room = SIZE_MAX;
    assert_int_equal(foreign_keep(&f, &s[2], &err), 0);
    assert_true(s[2].kept_whole == 0 && s[2].data == NULL);
    assert_int_equal(foreign_fill(&f, &scene.c, &err), 0); /* in the arena as before */
    assert_int_equal(scene.trims, 1);
    free(s[0].data);
    free(s[1].data);
}

static void test_a_sample_that_cannot_be_kept(void **state)
{
    (void)state;
    struct snapshot s[JUDGE_MAX_SNAPSHOTS];
    struct foreign f = samples(s);
    kgrade_error err;
    scene.room = 1;
    assert_int_equal(foreign_keep(&f, &s[0], &err), 0);
    assert_true(s[0].kept_whole);
    assert_int_equal(foreign_keep(&f, &s[1], &err), 0);
    assert_at_home(&s[0]);
    assert_true(s[1].kept_whole == 0 && s[1].data == NULL);
    assert_int_equal(scene.trims, 1);
    free(s[0].data);
}

/* The generator has no room beside what is kept: it is asked again when that has moved, and once only. */
static void test_inputs_are_made_again(void **state)
{
    (void)state;
    struct snapshot s[JUDGE_MAX_SNAPSHOTS];
    struct foreign f = samples(s);
    kgrade_error err = {.code = ""};
    assert_int_equal(foreign_keep(&f, &s[0], &err), 0);
    scene.refuses = 1;
    scene.made = 0;
    assert_int_equal(foreign_fill(&f, &scene.c, &err), 0);
    assert_int_equal(scene.made, 1);
    assert_at_home(&s[0]);
    scene.refuses = 2;
    assert_int_equal(foreign_fill(&f, &scene.c, &err), -1);
    assert_string_equal(err.code, "judge_memory");
    assert_int_equal(scene.refuses, 0);
    free(s[0].data);
}

/* What else goes wrong is told, and moves nothing. */
static void test_other_failures_move_nothing(void **state)
{
    (void)state;
    struct snapshot s[JUDGE_MAX_SNAPSHOTS];
    struct foreign f = samples(s);
    struct comparison comparisons[TASK_MAX_PARAMS];
    bool decided = false, right = false;
    kgrade_error err = {.code = ""};
    assert_int_equal(foreign_keep(&f, &s[0], &err), 0);
    scene.fails = true;
    assert_int_equal(foreign_compare(&f, &s[0], comparisons, &decided, &right, &err), -1);
    assert_string_equal(err.code, "reference_failed");
    assert_true(s[0].kept_whole && !s[0].data && !f.no_room);
    assert_int_equal(scene.trims, 0);
    scene.fails = false;
    scene.kept = (uint8_t *)(uintptr_t)s[0].kept_whole;
    scene.has_check = scene.check_says = true;
    assert_int_equal(foreign_compare(&f, &s[0], comparisons, &decided, &right, &err), 0);
    assert_true(s[0].kept_whole && decided && right && comparison_passes(&comparisons[2]));
    on_device_drop(&f.device, s[0].kept_whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_outputs_and_inputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_check_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inputs_that_drift, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answers_from_other_inputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reference_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_device_judges_as_the_host_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inputs_are_made_in_the_arena, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_device_without_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_samples_move_to_the_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_sample_that_cannot_be_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inputs_are_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_failures_move_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
