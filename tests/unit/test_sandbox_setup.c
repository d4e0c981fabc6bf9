/* Starting sandboxes and jails at the full level: probes, failures of the set-up, many at once, and a
 * client that talks nonsense. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include <pthread.h>
#include <sys/socket.h>

#include "sandbox/protocol.h"

/* The inside: this program is also what runs in some jails. */
static int inside_now(void)
{
    uint64_t now = io_now();
    return write(1, &now, sizeof now) == sizeof now ? 0 : 1;
}

static void test_probes(void **state)
{
    (void)state;
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level;
    size_t n = sandbox_probe_all(probes, &level);
    assert_in_range(n, 8, SANDBOX_MAX_PROBES);
    assert_int_equal(level, SANDBOX_FULL);
    for (size_t i = 0; i < n; i++) {
        print_message("%-18s %-3s %s\n", probes[i].name, probes[i].works ? "yes" : "no",
                      probes[i].detail);
        assert_true(probes[i].detail[0]);
        assert_true(probes[i].works ? !probes[i].fix[0] : probes[i].fix[0]);
        assert_true(probes[i].works || !probes[i].required);
    }
}

/* Failures of the set-up */

static void expect_not_started(struct job *job, const char *code, const char *in_message)
{
    struct jail_status status = run_job(job, NULL, 0);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, code);
    if (!strstr(status.error.message, in_message))
        fail_msg("%s is not in: %s", in_message, status.error.message);
    assert_true(status.error.hint[0]);
}

static void test_not_started(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "true");
    job_bind(&job, "/no/such/file", "/x", false);
    expect_not_started(&job, "jail_setup_failed", "/no/such/file");
    job.binds[job.spec.n_binds - 1].optional = true;
    struct jail_status status = run_job(&job, NULL, 0);
    assert_exit(&status, 0);

    job_init(&job, "true");
    job_bind(&job, "/etc", "/usr/no-such-folder", false); /* below a read-only bind */
    expect_not_started(&job, "jail_setup_failed", "/usr/no-such-folder");
    job_init(&job, "true");
    job.argv[0] = "/no/such/program";
    expect_not_started(&job, "jail_exec_failed", "/no/such/program");
    job.argv[0] = "/etc/ld.so.cache";
    expect_not_started(&job, "jail_exec_failed", "Permission denied");
}

static void test_invalid_is_told_at_once(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "true");
    job.spec.limits.wall_ns = 0;
    struct jail *jail = NULL;
    kgrade_error err;
    assert_int_equal(jail_spawn(box, &job.spec, &jail, &err), -1);
    assert_string_equal(err.code, "jail_invalid");
    job_init(&job, "true");
    job.spec.stdout_fd = 1000;
    assert_int_equal(jail_spawn(box, &job.spec, &jail, &err), -1);
    assert_string_equal(err.code, "jail_invalid");
}

static void test_sandbox_cannot_start(void **state)
{
    (void)state;
    struct sandbox *s = NULL;
    kgrade_error err;
    struct sandbox_options options = {.spawner = "/no/such/spawner", .level = SANDBOX_FULL};
    assert_int_equal(sandbox_start(&options, &s, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
    options.spawner = "/bin/true"; /* says nothing */
    assert_int_equal(sandbox_start(&options, &s, &err), -1);
    assert_string_equal(err.code, "spawner_failed");
}

/* Many */

static void *one_of_many(void *arg)
{
    int number = *(int *)arg, *result = arg;
    struct job job;
    char script[64];
    snprintf(script, sizeof script, "sleep 0.1; exit %d", number);
    job_init(&job, script);
    struct jail *jail = NULL;
    struct jail_status status;
    *result = -1;
    if (jail_spawn(box, &job.spec, &jail, NULL))
        return NULL;
    if (!jail_wait(jail, io_now() + 2 * PATIENCE, &status, NULL) && status.end == JAIL_EXITED)
        *result = status.code == number ? 0 : -2;
    jail_free(jail);
    return NULL;
}

static void test_fifty_at_once(void **state)
{
    (void)state;
    enum { MANY = 50 };
    pthread_t threads[MANY];
    int numbers[MANY];
    for (int i = 0; i < MANY; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, &numbers[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(numbers[i], 0);
    }
}

static void test_slots_run_out(void **state)
{
    (void)state;
    enum { SLOTS = 256 };
    static struct jail *jails[SLOTS + 1];
    struct job job;
    job_init(&job, "exec sleep 100");
    for (int i = 0; i <= SLOTS; i++)
        jails[i] = spawn(&job);
    struct jail_status status;
    struct pollfd last = {.fd = jail_poll_fd(jails[SLOTS]), .events = POLLIN};
    bool refused = poll(&last, 1, (int)(2 * PATIENCE / IO_NS_PER_MS)) == 1;
    for (int i = 0; i < SLOTS && !refused; i++) { /* it has the place of one that has ended */
        struct pollfd p = {.fd = jail_poll_fd(jails[i]), .events = POLLIN};
        if (poll(&p, 1, 0) == 1 && jail_wait(jails[i], io_now(), &status, NULL) == 0)
            print_message("jail %d: end %d, code %d %s: %s\n", i, (int)status.end, status.code,
                          status.error.code, status.error.message);
    }
    assert_true(refused);
    status = wait_for(jails[SLOTS]);
    assert_int_equal(status.end, JAIL_NOT_STARTED);
    assert_string_equal(status.error.code, "sandbox_busy");
    for (int i = 0; i <= SLOTS; i++)
        jail_kill(jails[i]);
    for (int i = 0; i <= SLOTS; i++)
        jail_free(jails[i]);
    run_script("true");
}

/* The client's end of the request socket: the first of its kind, as long as nothing else is open. */
static int request_socket(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET)
            return fd;
    }
    return -1;
}

/* Sends bytes with n copies of a descriptor. */
static void send_raw(const void *data, size_t size, int fd, size_t n)
{
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE(30 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec io = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    if (n) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        for (size_t i = 0; i < n; i++)
            memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
    }
    assert_true(sendmsg(request_socket(), &m, MSG_NOSIGNAL) == (ssize_t)size);
}

/* A client that talks nonsense: the spawner answers on the leash if there is one, and goes on. */
static void test_malformed_requests(void **state)
{
    (void)state;
    srand(2);
    for (int round = 0; round < 50; round++) {
        int leash[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, leash), 0);
        uint8_t junk[2000];
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (uint8_t)rand();
        size_t n = (size_t)round % 31; /* also none, and more than are taken */
        send_raw(junk, (size_t)rand() % sizeof junk + 1, leash[1], n);
        close(leash[1]);
        struct protocol_status answer;
        struct jail_status status;
        kgrade_error err;
        struct pollfd p = {.fd = leash[0], .events = POLLIN};
        assert_int_equal(poll(&p, 1, (int)(PATIENCE / IO_NS_PER_MS)), 1);
        ssize_t got = recv(leash[0], &answer, sizeof answer, 0);
        if (n == 0) {
            assert_int_equal(got, 0);
        } else {
            assert_int_equal(protocol_read_status(&answer, (size_t)got, &status, &err), 0);
            assert_int_equal(status.end, JAIL_NOT_STARTED);
            assert_string_equal(status.error.code, "jail_invalid");
        }
        close(leash[0]);
    }
    assert_string_equal(run_script("echo still here"), "still here\n");
}

static void test_empty_message(void **state)
{
    (void)state;
    send_raw("", 0, -1, 0);
    assert_string_equal(run_script("echo still here"), "still here\n");
}

/* Nobody can be answered on anything else; the jails end with it, or at once. */
static void test_leash_is_no_socket(void **state)
{
    (void)state;
    struct job job;
    struct bytes request = {0};
    kgrade_error err;
    job_init(&job, "sleep 100");
    assert_int_equal(protocol_encode(&job.spec, &request, &err), 0);
    int file = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    send_raw(request.data, request.size, file, 1);
    send_raw(request.data, request.size, ends[1], 1);
    close(ends[1]);
    close(ends[0]);
    close(file);
    bytes_free(&request);
    assert_string_equal(run_script("echo still here"), "still here\n");
}

static void test_start_time(void **state)
{
    (void)state;
    enum { ROUNDS = 21 };
    uint64_t best = UINT64_MAX, times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        char text[64];
        struct job job;
        job_init(&job, NULL);
        job_probe(&job, "now", NULL);
        uint64_t start = io_now(), then;
        struct jail_status status = run_job(&job, text, sizeof text);
        assert_exit(&status, 0);
        memcpy(&then, text, sizeof then);
        assert_in_range(then, start, io_now());
        times[i] = then - start;
        best = times[i] < best ? times[i] : best;
    }
    for (int i = 0; i < ROUNDS; i++) /* the median, by counting */
        for (int k = i + 1; k < ROUNDS; k++)
            if (times[k] < times[i]) {
                uint64_t t = times[i];
                times[i] = times[k];
                times[k] = t;
            }
    print_message("from jail_spawn to main() in the jail: median %.2f ms, best %.2f ms\n",
                  (double)times[ROUNDS / 2] / 1e6, (double)best / 1e6);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return !strcmp(argv[1], "now") ? inside_now() : 99;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_malformed_requests),
        cmocka_unit_test(test_empty_message),
        cmocka_unit_test(test_leash_is_no_socket),
        cmocka_unit_test(test_not_started),
        cmocka_unit_test(test_invalid_is_told_at_once),
        cmocka_unit_test(test_sandbox_cannot_start),
        cmocka_unit_test(test_fifty_at_once),
        cmocka_unit_test(test_slots_run_out),
        cmocka_unit_test(test_start_time),
    };
    if (!have_full_level())
        return SKIPPED;
    return cmocka_run_group_tests(tests, start_full, stop_group);
}
