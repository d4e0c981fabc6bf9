/* The request's encoding and its strict parser. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include "sandbox/protocol.h"

static struct job job;
static struct bytes good;

static int make_good(void **state)
{
    (void)state;
    job_init(&job, "true");
    job.spec.stdout_fd = 7;
    static const int fds[] = {8, 9};
    job.spec.fds = fds;
    job.spec.n_fds = 2;
    job.binds[1].writable = true;
    job.binds[2].device = true;
    kgrade_error err;
    return protocol_encode(&job.spec, &good, &err);
}

static int free_good(void **state)
{
    (void)state;
    bytes_free(&good);
    return 0;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct protocol_request r;
    kgrade_error err = {0};
    assert_int_equal(protocol_parse(good.data, good.size, 4, &r, &err), 0);
    const int passed[] = {20, 21, 22, 23};
    protocol_take_fds(&r, passed);
    assert_int_equal(r.spec.policy, JAIL_RECORD);
    assert_string_equal(r.spec.argv[0], "/bin/sh");
    assert_string_equal(r.spec.argv[2], "true");
    assert_null(r.spec.argv[3]);
    assert_string_equal(r.spec.env[1], "HOME=/tmp");
    assert_null(r.spec.env[3]);
    assert_string_equal(r.spec.workdir, "/tmp");
    assert_int_equal(r.spec.n_binds, N_TOOLBOX);
    assert_string_equal(r.spec.binds[0].target, "/usr");
    assert_true(r.spec.binds[1].writable && !r.spec.binds[0].writable);
    assert_true(r.spec.binds[2].device && r.spec.binds[3].optional);
    assert_int_equal(r.spec.stdin_fd, -1);
    assert_int_equal(r.spec.stdout_fd, 21);
    assert_int_equal(r.spec.fds[0], 22);
    assert_int_equal(r.spec.fds[1], 23);
    assert_memory_equal(&r.spec.limits, &job.spec.limits, sizeof r.spec.limits);
}

static void refused(const void *data, size_t size, size_t n_passed)
{
    struct protocol_request r;
    kgrade_error err = {0};
    assert_int_equal(protocol_parse(data, size, n_passed, &r, &err), -1);
    assert_string_equal(err.code, "jail_invalid");
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < good.size; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* exactly as long, for the sanitizer */
        memcpy(cut, good.data, n);
        refused(cut, n, 4);
        free(cut);
    }
}

static void test_wrong_number_of_descriptors(void **state)
{
    (void)state;
    for (size_t n = 0; n < 16; n++)
        if (n != 4)
            refused(good.data, good.size, n);
}

static void test_random_damage(void **state)
{
    (void)state;
    srand(1);
    size_t survived = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t *bad = malloc(good.size);
        memcpy(bad, good.data, good.size);
        for (int k = rand() % 4; k >= 0; k--)
            bad[(size_t)rand() % good.size] = (uint8_t)rand();
        struct protocol_request r;
        kgrade_error err = {0};
        if (protocol_parse(bad, good.size, 4, &r, &err) == 0) {
            survived++;
            assert_int_equal(r.spec.argv[0][0], '/');
            assert_true(r.spec.limits.wall_ns > 0);
        } else {
            assert_string_equal(err.code, "jail_invalid");
        }
        free(bad);
    }
    assert_true(survived < 20000);
}

/* Each changes one thing of a good request; the encoder or the parser must say no. */
static void expect_invalid(const struct job *j)
{
    struct bytes data = {0};
    kgrade_error err = {0};
    if (protocol_encode(&j->spec, &data, &err)) {
        assert_string_equal(err.code, "jail_invalid");
        return;
    }
    refused(data.data, data.size, 1);
    bytes_free(&data);
}

static void test_limits(void **state)
{
    (void)state;
    struct job j;
#define CHANGED(change)                                                                            \
    do {                                                                                           \
        job_init(&j, "true");                                                                      \
        change;                                                                                    \
        expect_invalid(&j);                                                                        \
    } while (0)
    CHANGED(j.spec.limits.wall_ns = 0);
    CHANGED(j.spec.limits.wall_ns = PROTOCOL_MAX_WALL_NS + 1);
    CHANGED(j.spec.limits.tmp_bytes = 0);
    CHANGED(j.spec.limits.tmp_bytes = PROTOCOL_MAX_TMP_BYTES + 1);
    CHANGED(j.spec.limits.memory_total_bytes = PROTOCOL_MAX_TOTAL_BYTES + 1);
    CHANGED(j.spec.limits.cpu_percent = PROTOCOL_MAX_CPU_PERCENT + 1);
    CHANGED(j.spec.limits.processes = 0);
    CHANGED(j.spec.limits.processes = PROTOCOL_MAX_PROCESSES + 1);
    CHANGED(j.spec.limits.open_files = 2);
    CHANGED(j.spec.limits.open_files = PROTOCOL_MAX_OPEN_FILES + 1);
    CHANGED(j.spec.n_binds = JAIL_MAX_BINDS + 1);
    CHANGED(j.spec.n_fds = JAIL_MAX_FDS + 1);
    CHANGED(j.spec.workdir = NULL);
    CHANGED(j.spec.workdir = "tmp");
    CHANGED(j.spec.workdir = "/tmp/../etc");
    CHANGED(j.argv[0] = "sh");
    CHANGED(j.argv[0] = NULL);
    CHANGED(j.binds[0].source = NULL);
    CHANGED(j.binds[0].source = "usr");
    CHANGED(j.binds[0].target = "/a/..");
    CHANGED(j.binds[0].target = "/");
    CHANGED(j.binds[0].target = "//./");
    CHANGED(j.binds[0].target = "");
    CHANGED(j.spec.policy = (enum jail_policy)9);
    static const char *const bad_env[] = {"NOVALUE", NULL};
    CHANGED(j.spec.env = bad_env);
    static const char *const unnamed[] = {"=x", NULL};
    CHANGED(j.spec.env = unnamed);
}

static void test_too_much(void **state)
{
    (void)state;
    struct job j;
    const char *many[JAIL_MAX_ARGS + 2];
    for (size_t i = 0; i <= JAIL_MAX_ARGS; i++)
        many[i] = "/x=y";
    many[JAIL_MAX_ARGS + 1] = NULL;
    CHANGED(j.spec.argv = many);
    CHANGED(j.spec.env = many);
    char *huge = malloc(PROTOCOL_MAX_BYTES + 1);
    memset(huge, 'x', PROTOCOL_MAX_BYTES);
    huge[PROTOCOL_MAX_BYTES] = 0;
    CHANGED(j.argv[2] = huge);
    huge[0] = '/';
    huge[PROTOCOL_MAX_PATH + 1] = 0;
    CHANGED(j.spec.workdir = huge);
    free(huge);
}

static void test_status(void **state)
{
    (void)state;
    struct protocol_status m;
    memset(&m, 'x', sizeof m); /* no string in it ends */
    m.magic = PROTOCOL_STATUS_MAGIC;
    m.size = sizeof m;
    m.status.end = JAIL_NOT_STARTED;
    m.status.out_of_memory = true;
    struct jail_status status;
    kgrade_error err = {0};
    assert_int_equal(protocol_read_status(&m, sizeof m, &status, &err), 0);
    assert_int_equal(strlen(status.error.message), sizeof status.error.message - 1);
    assert_int_equal(protocol_read_status(&m, sizeof m - 1, &status, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    m.status.end = (enum jail_end)(JAIL_NOT_STARTED + 1);
    assert_int_equal(protocol_read_status(&m, sizeof m, &status, &err), -1);
    m.status.end = JAIL_EXITED;
    memset(&m.status.out_of_memory, 'x', 1);
    assert_int_equal(protocol_read_status(&m, sizeof m, &status, &err), -1);
    m.status.out_of_memory = false;
    assert_int_equal(protocol_read_status(&m, sizeof m, &status, &err), 0);
    m.magic++;
    assert_int_equal(protocol_read_status(&m, sizeof m, &status, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_wrong_number_of_descriptors),
        cmocka_unit_test(test_random_damage),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_status),
    };
    return cmocka_run_group_tests(tests, make_good, free_good);
}
