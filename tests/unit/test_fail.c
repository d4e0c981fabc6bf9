/* Errors as values: what is too long is cut at the end of a character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#undef fail /* cmocka's */
#include "sandbox/base/fail.h"

#define ROOM sizeof((kgrade_error *)NULL)->message

static void a_cut_message_is_still_utf8(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\u00e9", "\u20ac", "\U0001f600"};
    for (size_t c = 0; c < sizeof characters / sizeof characters[0]; c++)
        for (size_t shift = 0; shift < 4; shift++) {
            char text[2 * ROOM] = "";
            size_t length = strlen(characters[c]);
            memset(text, 'a', shift);
            while (strlen(text) + length < sizeof text)
                strcat(text, characters[c]);
            kgrade_error err;
            assert_int_equal(fail(&err, "too_long", text, "%s", text), -1);
            json_t *message = json_string(err.message), *hint = json_string(err.hint);
            assert_true(message && hint);
            /* No more than the last character is missing. */
            assert_in_range(strlen(err.message), ROOM - length, ROOM - 1);
            json_decref(message);
            json_decref(hint);
        }
}

static void what_fits_stays_as_it_is(void **state)
{
    (void)state;
    kgrade_error err;
    fail(&err, "fits", NULL, "%s", "caf\u00e9");
    assert_string_equal(err.message, "caf\u00e9");
    assert_string_equal(err.hint, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_message_is_still_utf8),
        cmocka_unit_test(what_fits_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
