#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/task/call.h"
#include "sandbox/base/cleanup.h"

/* More parameters than fit in registers, of every kind that is passed by value. */
static const char text[] =
    "{\"name\": \"a\", \"title\": \"a\", \"entry\": \"mixture\", \"parameters\": ["
    "{\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i64\"},"
    "{\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f16\", \"shape\": [\"n\"],"
    " \"values\": {\"distribution\": \"uniform\"}},"
    "{\"name\": \"alpha\", \"kind\": \"scalar\", \"dtype\": \"f32\", \"value\": 0.1},"
    "{\"name\": \"stream\", \"kind\": \"stream\"},"
    "{\"name\": \"beta\", \"kind\": \"scalar\", \"dtype\": \"f64\", \"value\": -2.5},"
    "{\"name\": \"i\", \"kind\": \"scalar\", \"dtype\": \"i32\", \"value\": -7},"
    "{\"name\": \"l\", \"kind\": \"scalar\", \"dtype\": \"i64\", \"value\": 1099511627776},"
    "{\"name\": \"y\", \"kind\": \"inout\", \"dtype\": \"i8\", \"shape\": [\"n\"],"
    " \"values\": {\"distribution\": \"permutation\"}},"
    "{\"name\": \"k\", \"kind\": \"dim\", \"dtype\": \"i32\"},"
    "{\"name\": \"z\", \"kind\": \"out\", \"dtype\": \"i32\", \"shape\": [\"k\"]}],"
    "\"cases\": {\"correctness\": [{\"n\": 1, \"k\": 1}], \"benchmark\": [{\"n\": 1, \"k\": 1}]},"
    "\"roofline\": {\"bytes\": \"1\", \"operations\": \"1\"}}";

static int load(void **state)
{
    kgrade_error err;
    struct task *task = NULL;
    if (task_parse(text, strlen(text), "text", &task, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    *state = task;
    return 0;
}

static int unload(void **state)
{
    task_free(*state);
    return 0;
}

static struct {
    unsigned calls;
    int64_t n, l, k;
    const void *x, *stream, *y, *z;
    double alpha, beta;
    int64_t i;
} got;

static void entry(int64_t n, const void *x, float alpha, void *stream, double beta, int i,
                  int64_t l, void *y, int k, void *z)
{
    got.calls++;
    got.n = n, got.x = x, got.alpha = (double)alpha, got.stream = stream, got.beta = beta;
    got.i = i, got.l = l, got.y = y, got.k = k, got.z = z;
}

static void reference(int64_t n, const double *x, double alpha, double beta, int64_t i, int64_t l,
                      int64_t *y, int64_t k, int64_t *z)
{
    got.calls++;
    got.n = n, got.x = x, got.alpha = alpha, got.stream = NULL, got.beta = beta;
    got.i = i, got.l = l, got.y = y, got.k = k, got.z = z;
}

static void check(struct call *call, void (*function)(void), const void *stream)
{
    char x, y, z;
    int64_t dims[2] = {1ll << 40, 2147483647};
    memset(&got, 0, sizeof got);
    call_set_dims(call, dims);
    call_set_pointer(call, 1, &x);
    call_set_pointer(call, 3, (void *)stream);
    call_set_pointer(call, 7, &y);
    call_set_pointer(call, 9, &z);
    for (unsigned round = 1; round <= 3; round++) {
        call_invoke(call, function);
        assert_int_equal(got.calls, round);
        assert_true(got.n == 1ll << 40 && got.k == 2147483647);
        assert_ptr_equal(got.x, &x);
        assert_ptr_equal(got.y, &y);
        assert_ptr_equal(got.z, &z);
        assert_ptr_equal(got.stream, stream);
        assert_true(got.alpha == (double)0.1f && got.beta == -2.5);
        assert_true(got.i == -7 && got.l == 1099511627776);
    }
    dims[1] = 5;
    call_set_dims(call, dims);
    call_invoke(call, function);
    assert_int_equal(got.k, 5);
    assert_ptr_equal(got.z, &z);
}

static void test_the_entry_gets_every_argument(void **state)
{
    struct call *call;
    char stream;
    assert_int_equal(call_new_entry(*state, &call, NULL), 0);
    check(call, (void (*)(void))entry, &stream);
    call_free(call);
}

static void test_the_reference_gets_wide_types_and_no_stream(void **state)
{
    struct call *call;
    assert_int_equal(call_new_reference(*state, &call, NULL), 0);
    check(call, (void (*)(void))reference, NULL);
    call_free(call);
}

static int device_reference(int64_t n, const void *x, double alpha, double beta, int64_t i,
                            int64_t l, int64_t *y, int64_t k, int64_t *z, const void *queue)
{
    reference(n, x, alpha, beta, i, l, y, k, z);
    got.stream = queue;
    return -5;
}

static void test_the_device_reference_gets_a_queue_at_the_end(void **state)
{
    struct call *call;
    char queue;
    assert_int_equal(call_new_device_reference(*state, &call, NULL), 0);
    call_set_queue(call, &queue);
    check(call, (void (*)(void))device_reference, &queue);
    assert_int_equal(call_invoke_device_reference(call, (void (*)(void))device_reference), -5);
    call_free(call);
    /* Nothing else has one. */
    assert_int_equal(call_new_reference(*state, &call, NULL), 0);
    call_set_queue(call, &queue);
    check(call, (void (*)(void))reference, NULL);
    call_free(call);
}

static void test_pointers_go_to_buffers_only(void **state)
{
    struct call *call;
    char stray;
    assert_int_equal(call_new_entry(*state, &call, NULL), 0);
    call_set_pointer(call, 0, &stray);  /* a dim */
    call_set_pointer(call, 2, &stray);  /* a scalar */
    call_set_pointer(call, 24, &stray); /* no parameter */
    call_set_pointer(call, SIZE_MAX, &stray);
    check(call, (void (*)(void))entry, &stray);
    call_free(call);
}

static char *buffer(const struct param *param)
{
    char *argument;
    return asprintf(&argument, "cl_mem %s", param->name) < 0 ? NULL : argument;
}

static char *no_memory(const struct param *param)
{
    (void)param;
    return NULL;
}

static void test_prototype(void **state)
{
    cleanup_free char *prototype = call_prototype(*state, buffer, "cl_command_queue");
    assert_string_equal(prototype, "void mixture(int64_t n, cl_mem x, float alpha, "
                                   "cl_command_queue stream, double beta, int i,\n"
                                   "             int64_t l, cl_mem y, int k, cl_mem z)");
    assert_null(call_prototype(*state, no_memory, "cl_command_queue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_entry_gets_every_argument),
        cmocka_unit_test(test_the_reference_gets_wide_types_and_no_stream),
        cmocka_unit_test(test_the_device_reference_gets_a_queue_at_the_end),
        cmocka_unit_test(test_pointers_go_to_buffers_only),
        cmocka_unit_test(test_prototype),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
