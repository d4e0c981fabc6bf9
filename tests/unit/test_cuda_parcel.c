#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/devices/cuda/parcel.h"

static int file_with(const char *text)
{
    int fd = memfd_create("parcel", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static void every_reader_gets_sizes_and_memory(void **state)
{
    (void)state;
    const struct parcel sent = {12 << 20, 4 << 20};
    kgrade_error err;
    int memory = file_with("the memory"), fd = -1;
    assert_int_equal(parcel_pack(&sent, memory, &fd, &err), 0);
    close(memory); /* the maker may be gone */
    for (int reader = 0; reader < 3; reader++) {
        struct parcel got;
        char text[16] = "";
        int copy = -1, handed_on = dup(fd);
        assert_int_equal(parcel_open(handed_on, &got, &copy, &err), 0);
        assert_memory_equal(&got, &sent, sizeof got);
        assert_int_equal(pread(copy, text, sizeof text, 0), 10);
        assert_string_equal(text, "the memory");
        close(copy);
        close(handed_on);
    }
    close(fd);
}

static void other_descriptors_are_refused(void **state)
{
    (void)state;
    struct parcel got;
    kgrade_error err;
    int memory = -1, fd = file_with("no socket");
    assert_int_equal(parcel_open(fd, &got, &memory, &err), -1);
    assert_string_equal(err.code, "arena_failed");
    assert_int_equal(memory, -1);
    close(fd);
}

static void an_empty_socket_is_refused_at_once(void **state)
{
    (void)state;
    struct parcel got;
    kgrade_error err;
    int memory = -1, pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(parcel_open(pair[1], &got, &memory, &err), -1);
    assert_string_equal(err.code, "arena_failed");
    close(pair[0]);
    assert_int_equal(parcel_open(pair[1], &got, &memory, &err),
                     -1); /* and one whose other end is gone */
    close(pair[1]);
}

/* Messages that lack the descriptor, the beginning or the end. */
static void other_messages_are_refused(void **state)
{
    (void)state;
    static const char bytes[64] = "kgarena";
    for (size_t size = 0; size <= sizeof bytes; size += 8) {
        struct parcel got;
        kgrade_error err;
        int memory = -1, pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
        assert_int_equal(send(pair[0], bytes, size, 0), (ssize_t)size);
        assert_int_equal(parcel_open(pair[1], &got, &memory, &err), -1);
        assert_string_equal(err.code, "arena_failed");
        close(pair[0]);
        close(pair[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_gets_sizes_and_memory),
        cmocka_unit_test(other_descriptors_are_refused),
        cmocka_unit_test(an_empty_socket_is_refused_at_once),
        cmocka_unit_test(other_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
