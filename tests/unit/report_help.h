/* What the tests of the page share: JSON, what was drawn of it, and whether that is well-formed. */
#ifndef REPORT_HELP_H
#define REPORT_HELP_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants some of the above first */
#include <cmocka.h>
#include <jansson.h>

__attribute__((unused)) static json_t *parsed(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_DECODE_ANY, &where);
    if (!json)
        fail_msg("%s at %d", where.text, where.position);
    return json;
}

__attribute__((unused)) static char *written(void (*write)(FILE *, const char *), const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    write(f, text);
    fclose(f);
    return out;
}

__attribute__((unused)) static char *drawn(void (*draw)(FILE *, const json_t *), const char *text)
{
    json_auto_t *json = parsed(text);
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    draw(f, json);
    fclose(f);
    return out;
}

__attribute__((unused)) static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part))) {
        n++;
        text += strlen(part);
    }
    return n;
}

__attribute__((unused)) static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing in:\n%.4000s", part, text);
}

#define MAX_DEPTH 64

/* What an attribute that places something must hold: numbers, with letters of a path, units and spaces between. */
__attribute__((unused)) static void assert_place(const char *value, size_t n, bool is_path)
{
    const char *letters = is_path ? "MLVHvhzZ -. " : "%-. ";
    if (n == 0 && !is_path)
        fail_msg("A place is empty.");
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)value[i]) && !strchr(letters, value[i]))
            fail_msg("A place is \"%.*s\".", (int)n, value);
}

__attribute__((unused)) static void check_attribute(const char *name, size_t n, const char *value,
                                                    size_t size)
{
    static const char *const places[] = {"x",  "y",  "x1", "x2",    "y1",     "y2",
                                         "cx", "cy", "r",  "width", "height", "d"};
    assert_null(memchr(value, '<', size));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (strlen(places[i]) == n && !memcmp(places[i], name, n))
            assert_place(value, size, *places[i] == 'd');
    bool is_content = n == 7 && !memcmp(name, "content", n);
    if (!is_content && n > 1 && !memcmp(name, "on", 2))
        fail_msg("There is an attribute %.*s.", (int)n, name);
}

/* Reads a tag from behind its '<'; returns what is behind its '>'. */
__attribute__((unused)) static const char *check_tag(const char *p, const char *open[MAX_DEPTH],
                                                     size_t *depth)
{
    bool closes = *p == '/';
    p += closes;
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
    assert_true(n > 0);
    if (closes) {
        assert_true(*depth > 0);
        const char *name = open[--*depth];
        if (memcmp(name, p, n) != 0 || isalnum((unsigned char)name[n]))
            fail_msg("</%.*s> closes <%.10s", (int)n, p, name);
        assert_true(p[n] == '>');
        return p + n + 1;
    }
    static const char *const unwelcome[] = {"script", "link", "iframe", "img", "object", "base"};
    for (size_t i = 0; i < sizeof unwelcome / sizeof unwelcome[0]; i++)
        assert_false(strlen(unwelcome[i]) == n && !memcmp(unwelcome[i], p, n));
    const char *name = p;
    p += n;
    while (*p == ' ') {
        const char *attribute = ++p;
        size_t k = strcspn(p, "= />");
        assert_true(p[k] == '=' && p[k + 1] == '"');
        p += k + 2;
        size_t size = strcspn(p, "\"");
        check_attribute(attribute, k, p, size);
        p += size;
        assert_true(*p == '"');
        p++;
    }
    if (*p == '/') {
        assert_true(p[1] == '>');
        return p + 2;
    }
    assert_true(*p == '>' && *depth < MAX_DEPTH);
    open[(*depth)++] = name;
    return p + 1;
}

/* Well-formed, no tag or attribute that could do something, only numbers where numbers belong. */
__attribute__((unused)) static void assert_well_formed(const char *p)
{
    const char *open[MAX_DEPTH];
    size_t depth = 0;
    if (!strncmp(p, "<!DOCTYPE html>", 15))
        p += 15;
    while (*p) {
        if (*p == '<') {
            p = check_tag(p + 1, open, &depth);
        } else {
            if (*p == '&')
                assert_true(!strncmp(p, "&lt;", 4) || !strncmp(p, "&gt;", 4) ||
                            !strncmp(p, "&amp;", 5) || !strncmp(p, "&quot;", 6) ||
                            !strncmp(p, "&#39;", 5));
            assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
            p++;
        }
    }
    assert_int_equal(depth, 0);
}

/* A series of samples, as a result has it. */
#define SERIES(samples)                                                                            \
    "{\"median_ns\": 19400, \"p10_ns\": 19100, \"p90_ns\": 19900, \"stderr_ns\": 52, "             \
    "\"samples\": 5, \"void_samples\": 0, \"cache\": \"warm\", \"samples_ns\": [" samples "]}"

#endif
