#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/wire.h"

static uint64_t soon(void)
{
    return io_now() + 60 * IO_NS_PER_S;
}

static int pair_of_sockets(void **state)
{
    static int pair[2];
    *state = pair;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int close_sockets(void **state)
{
    const int *pair = *state;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static void a_message_arrives_whole(void **state)
{
    const int *pair = *state;
    const char blob[] = "blob\0with a zero";
    cleanup_message struct wire_message message = {.fd = -1};
    assert_int_equal(
        wire_send(pair[0], json_pack("{s:s}", "op", "x"), blob, sizeof blob, -1, soon(), NULL), 0);
    assert_int_equal(wire_receive(pair[1], &message, soon(), NULL), 0);
    assert_string_equal(json_string_value(json_object_get(message.json, "op")), "x");
    assert_int_equal(message.blob.size, sizeof blob);
    assert_memory_equal(message.blob.data, blob, sizeof blob);
    assert_int_equal(message.fd, -1);
}

static void a_descriptor_rides_along(void **state)
{
    const int *pair = *state;
    char text[4] = "";
    int file = memfd_create("test", 0);
    assert_int_equal(write(file, "abc", 3), 3);
    cleanup_message struct wire_message message = {.fd = -1};
    assert_int_equal(wire_send(pair[0], json_object(), NULL, 0, file, soon(), NULL), 0);
    close(file);
    assert_int_equal(wire_receive(pair[1], &message, soon(), NULL), 0);
    assert_true(message.fd >= 0);
    assert_int_equal(pread(message.fd, text, 3, 0), 3);
    assert_string_equal(text, "abc");
}

static void the_end_is_told_from_a_cut(void **state)
{
    const int *pair = *state;
    kgrade_error err;
    cleanup_message struct wire_message message = {.fd = -1};
    assert_int_equal(write(pair[0], "\x05\0\0", 3), 3);
    shutdown(pair[0], SHUT_WR);
    assert_int_equal(wire_receive(pair[1], &message, soon(), &err), -1);
    assert_string_equal(err.code, "io_closed");
    assert_int_equal(wire_receive(pair[1], &message, soon(), &err), 1);
}

static void silence_ends_at_the_deadline(void **state)
{
    const int *pair = *state;
    kgrade_error err;
    cleanup_message struct wire_message message = {.fd = -1};
    assert_int_equal(wire_receive(pair[1], &message, io_now() + 20 * IO_NS_PER_MS, &err), -1);
    assert_string_equal(err.code, "io_timeout");
}

/* What a hostile worker may send: each must be refused before memory is taken for it. */
static void garbage_is_refused(void **state)
{
    const int *pair = *state;
    const struct {
        const char *bytes;
        size_t size;
    } frames[] = {
        {"\xff\xff\xff\xff\0\0\0\0", 8},             /* JSON longer than allowed */
        {"\x02\0\0\0\xff\xff\xff\xff{}", 10},        /* blob longer than allowed */
        {"\x02\0\0\0\0\0\0\0[]", 10},                /* not an object */
        {"\x0d\0\0\0\0\0\0\0{\"a\":1,\"a\":2}", 21}, /* a key twice */
        {"\x02\0\0\0\0\0\0\0{\xff", 10},             /* not JSON */
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        kgrade_error err;
        cleanup_message struct wire_message message = {.fd = -1};
        assert_int_equal(write(pair[0], frames[i].bytes, frames[i].size), (int)frames[i].size);
        assert_int_equal(wire_receive(pair[1], &message, soon(), &err), -1);
        assert_string_equal(err.code, "wire_invalid");
        char rest[32];
        recv(pair[1], rest, sizeof rest, MSG_DONTWAIT);
    }
}

static void large_values_keep_all_their_bits(void **state)
{
    (void)state;
    json_t *object = json_object();
    json_object_set_new(object, "seed", wire_u64_json(UINT64_MAX - 1));
    assert_true(wire_u64(object, "seed") == UINT64_MAX - 1);
    assert_true(wire_u64(object, "absent") == 0);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_arrives_whole, pair_of_sockets, close_sockets),
        cmocka_unit_test_setup_teardown(a_descriptor_rides_along, pair_of_sockets, close_sockets),
        cmocka_unit_test_setup_teardown(the_end_is_told_from_a_cut, pair_of_sockets, close_sockets),
        cmocka_unit_test_setup_teardown(silence_ends_at_the_deadline, pair_of_sockets,
                                        close_sockets),
        cmocka_unit_test_setup_teardown(garbage_is_refused, pair_of_sockets, close_sockets),
        cmocka_unit_test(large_values_keep_all_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
