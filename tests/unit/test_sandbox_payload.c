/* The last steps before exec, one by one: what of the caller's descriptors is left. */
#define _GNU_SOURCE
#include "sandbox_help.h"

#include "sandbox/payload.h"

/* Descriptors that survive exec, in all kinds of places. */
static void open_many(void)
{
    static const int places[] = {3, 4, 5, 9, 10, 63, 64, 65, 100, 999};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_true(dup2(0, places[i]) >= 0);
}

/* The open descriptors below 1024 as text. */
static const char *list_open(void)
{
    static char text[8192];
    size_t n = 0;
    text[0] = 0;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%d ", fd);
    return text;
}

/* Runs `body` in a child with many open descriptors; what it returns is written to a pipe at 200. */
static void in_child(const char *(*body)(void), const char *wanted)
{
    int ends[2];
    char text[8192] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int out = dup2(ends[1], 900);
        open_many();
        const char *answer = body();
        _exit(write(out, answer, strlen(answer)) == (ssize_t)strlen(answer) ? 0 : 1);
    }
    close(ends[1]);
    drain(ends[0], text, sizeof text, io_now() + PATIENCE);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    assert_string_equal(text, wanted);
}

static const char *close_others(void)
{
    int keep[] = {100, 900, -1, 9, 0, 9};
    return payload_close_others(keep, 6) ? "failed" : list_open();
}

static void test_others_are_closed(void **state)
{
    (void)state;
    in_child(close_others, "0 1 2 9 100 900 ");
}

static const char *place(void)
{
    static char answer[8300];
    int extra[] = {64, 0, 5}, out = fcntl(900, F_DUPFD_CLOEXEC, 0);
    const struct jail_spec spec = {
        .stdin_fd = 100, .stdout_fd = -1, .stderr_fd = 4, .fds = extra, .n_fds = 3};
    int report = payload_place_fds(&spec, out, NULL);
    if (report < 0)
        return "failed";
    bool passes_exec, all_pass = true;
    for (int fd = 0; fd < report; fd++)
        all_pass = all_pass && fcntl(fd, F_GETFD) == 0;
    passes_exec = fcntl(report, F_GETFD) == 0;
    snprintf(answer, sizeof answer, "%d %s%s: %s", report, all_pass ? "given" : "lost",
             passes_exec ? ", report leaks" : "", list_open());
    return write(report, answer, strlen(answer)) < 0 ? "failed" : "";
}

/* The three standard ones, three more, and the report pipe, which goes with exec. */
static void test_the_given_are_placed(void **state)
{
    (void)state;
    in_child(place, "6 given: 0 1 2 3 4 5 6 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_are_closed),
        cmocka_unit_test(test_the_given_are_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
