/* What the service manager hears, word by word. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/io.h"
#include "server/activation.h"
#include "server/log.h"
#include "server/notify.h"

static int manager = -1;

/* An abstract name, so that no file is left. */
static int listen_for_it(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int length = snprintf(name, sizeof name, "@kgrade-test-notify-%d", getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setenv("NOTIFY_SOCKET", name, 1);
    log_open(LOG_LEVEL_ERROR);
    return bind(manager, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length));
}

static void assert_hears(const char *expected)
{
    char text[512];
    ssize_t n = recv(manager, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    assert_string_equal(text, expected);
}

static void test_states(void **state)
{
    (void)state;
    notify_ready(); /* before it is opened: to nobody */
    assert_hears("");
    setenv("WATCHDOG_USEC", "20000", 1);
    unsetenv("WATCHDOG_PID");
    notify_open();
    notify_ready();
    assert_hears("READY=1");
    notify_stopping();
    assert_hears("STOPPING=1");
    uint64_t before = io_now() / 1000, told = 0;
    notify_reloading();
    char text[128] = "";
    assert_true(recv(manager, text, sizeof text - 1, 0) > 0);
    assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%lu", &told), 1);
    assert_in_range(told, before, io_now() / 1000);
}

static void test_status(void **state)
{
    (void)state;
    notify_status("%d grades", 1);
    assert_hears("STATUS=1 grades");
    sleep(1);
    notify_status("%d grades", 1);
    assert_hears("");
    notify_status("%d grades", 2);
    assert_hears("STATUS=2 grades");
    char longer[600];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    sleep(1);
    notify_status("%s", longer);
    memcpy(longer, "STATUS=", 7); /* what is cut off takes as much */
    longer[7 + 255] = 0;
    assert_hears(longer);
}

/* Fed when it is due and the work goes on, and only then. */
static void test_watchdog(void **state)
{
    (void)state;
    uint64_t due = notify_watchdog(true);
    assert_hears("WATCHDOG=1");
    for (int i = 0; i < 3; i++) {
        while (io_now() < due)
            usleep(1000);
        due = notify_watchdog(i == 1);
        assert_hears(i == 1 ? "WATCHDOG=1" : "");
    }
}

static void test_activation(void **state)
{
    (void)state;
    kgrade_error e = {{0}, {0}, {0}};
    char pid[32];
    assert_int_equal(activation_socket(&e), ACTIVATION_NONE);
    setenv("LISTEN_FDS", "1", 1);
    assert_int_equal(activation_socket(&e), ACTIVATION_NONE);
    setenv("LISTEN_PID", "1", 1);
    assert_int_equal(activation_socket(&e), ACTIVATION_NONE);
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("LISTEN_PID", pid, 1);
    assert_int_equal(activation_socket(&e), 3);
    static const char *const none[] = {"0", "", "x", "1x", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        setenv("LISTEN_FDS", none[i], 1);
        assert_int_equal(activation_socket(&e), ACTIVATION_NONE);
    }
    setenv("LISTEN_FDS", "3", 1);
    setenv("LISTEN_FDNAMES", "a:b:c", 1);
    assert_int_equal(activation_socket(&e), -1);
    assert_string_equal(e.code, "activation_failed");
    assert_non_null(strstr(e.message, "3 sockets (a:b:c)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_activation),
    };
    return cmocka_run_group_tests(tests, listen_for_it, NULL);
}
