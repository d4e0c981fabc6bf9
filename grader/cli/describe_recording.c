/* A recording, for people.  Everything in it was written by whoever made it. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"
#include "text.h"
#include "view.h"

static void print_value(int depth, const char *key, const json_t *value);

static void print_members(int depth, const json_t *json)
{
    if (json_is_object(json)) {
        const char *key;
        json_t *value;
        json_object_foreach(view_members(json), key, value) print_value(depth, key, value);
        return;
    }
    size_t i;
    json_t *value;
    json_array_foreach(json, i, value)
    {
        char key[32];
        snprintf(key, sizeof key, "%zu", i);
        print_value(depth, key, value);
    }
}

/* Whether the value fits on one line: no object or array inside that holds another one. */
static bool is_flat(const json_t *json)
{
    const char *key;
    json_t *value;
    json_object_foreach(view_members(json), key,
                        value) if (json_object_size(value) || json_array_size(value)) return false;
    size_t i;
    json_array_foreach(json, i,
                       value) if (json_object_size(value) || json_array_size(value)) return false;
    return true;
}

/* What the bytes of an argument may mean: nobody but the kernel knows its type. */
static void print_words(const char *hex)
{
    uint8_t bytes[8];
    size_t n = hex ? strlen(hex) / 2 : 0;
    if (n != 4 && n != 8)
        return;
    for (size_t i = 0; i < n; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    if (n == 4) {
        int32_t integer;
        float real;
        memcpy(&integer, bytes, sizeof integer);
        memcpy(&real, bytes, sizeof real);
        printf("  (i32 %" PRId32 ", f32 %g)", integer, (double)real);
    } else {
        int64_t integer;
        double real;
        memcpy(&integer, bytes, sizeof integer);
        memcpy(&real, bytes, sizeof real);
        printf("  (i64 %" PRId64 ", f64 %g)", integer, real);
    }
}

static void print_value(int depth, const char *key, const json_t *value)
{
    printf("%*s", 2 * depth, "");
    text_print_inline(stdout, key);
    if (is_flat(value)) {
        cleanup_free char *text =
            json_is_object(value) ? view_assignments(value) : view_brief(value);
        if (text && *text) {
            fputs("  ", stdout);
            text_print_inline(stdout, text);
        }
        print_words(view_string(value, "hex"));
        putchar('\n');
        return;
    }
    putchar('\n');
    print_members(depth + 1, value);
}

void describe_recording(const json_t *recording)
{
    print_members(0, recording);
}
