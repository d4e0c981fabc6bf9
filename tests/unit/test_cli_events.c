/* Server-sent events: what arrives in pieces is what was sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "grader/cli/remote/events.h"

static char seen[65536];

static void take(void *user, const char *name, const char *data, const char *id)
{
    (void)user;
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "[%s|%s|%s]", name, data, id);
}

/* Feeds the text in pieces of `piece` bytes. */
static const char *parse(const char *text, size_t piece)
{
    static struct events events;
    events = (struct events){.take = take};
    seen[0] = 0;
    for (size_t at = 0, n = strlen(text); at < n; at += piece)
        events_feed(&events, text + at, n - at < piece ? n - at : piece);
    return seen;
}

static void test_pieces(void **state)
{
    (void)state;
    const char text[] = "event: queued\nid: 0\ndata: {\"ahead\": 2}\n\n"
                        ": still here\n\n"
                        "event:done\r\nid:1\r\ndata:{}\r\n\r\n"
                        "data: first\rdata: second\r\r";
    for (size_t piece = 1; piece < sizeof text; piece++)
        assert_string_equal(parse(text, piece),
                            "[queued|{\"ahead\": 2}|0][done|{}|1][message|first\nsecond|1]");
}

static void test_unfinished(void **state)
{
    (void)state;
    assert_string_equal(parse("event: done\ndata: {}\n", 5), "");
    assert_string_equal(parse("event: done\n\n", 5), ""); /* no data, no event */
    assert_string_equal(parse("data\nretry: 5\nunknown: x\n\n", 5), "");
}

static void test_restart(void **state)
{
    (void)state;
    struct events events = {.take = take};
    static const char cut[] = "id: 7\ndata: a\n\nevent: queued\ndata: cu", whole[] = "data: b\n\n";
    seen[0] = 0;
    events_feed(&events, cut, strlen(cut));
    events_restart(&events);
    events_feed(&events, whole, strlen(whole));
    assert_string_equal(seen, "[message|a|7][message|b|7]");
}

/* Beyond its limits text is cut, never written elsewhere. */
static void test_limits(void **state)
{
    (void)state;
    static char text[4 * EVENTS_MAX_LINE];
    size_t n = (size_t)sprintf(text, "data: ");
    memset(text + n, 'x', 3 * EVENTS_MAX_LINE);
    strcpy(text + n + 3 * EVENTS_MAX_LINE, "\ndata: tail\n\n");
    const char *got = parse(text, 1000);
    assert_true(strlen(got) <= EVENTS_MAX_LINE + 16);
    assert_true(strlen(got) > EVENTS_MAX_LINE - 16);
    n = (size_t)sprintf(text, "id: ");
    memset(text + n, '7', 1000);
    strcpy(text + n + 1000, "\nevent: ");
    n = strlen(text);
    memset(text + n, 'e', 1000);
    strcpy(text + n + 1000, "\ndata: x\n\n");
    assert_true(strlen(parse(text, 7)) < 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
