#define _GNU_SOURCE
#include "reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"

#define MAX_SHOWN 64 /* bytes of a foreign text in a message */

size_t reader_key(struct reader *r, const char *key)
{
    size_t back = strlen(r->path);
    snprintf(r->path + back, sizeof r->path - back, ".%s", key);
    return back;
}

size_t reader_index(struct reader *r, size_t index)
{
    size_t back = strlen(r->path);
    snprintf(r->path + back, sizeof r->path - back, "[%zu]", index);
    return back;
}

void reader_leave(struct reader *r, size_t back)
{
    r->path[back] = 0;
}

int reader_complain(struct reader *r, const char *hint, const char *format, ...)
{
    char what[640];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return fail(r->err, "task_invalid", hint, "%s: %s: %s", r->origin, r->path, what);
}

/* How many of at most `max` bytes can be shown without cutting a UTF-8 character in two. */
static int shown_length(const char *text, size_t max)
{
    size_t n = strnlen(text, max + 1);
    if (n > max)
        for (n = max; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
            ;
    return (int)n;
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

static int wrong_type(struct reader *r, const char *wanted, const json_t *value)
{
    return reader_complain(r, "Correct the value; tasks/README.md describes every key.",
                           "%s is expected here, not %s.", wanted, type_name(value));
}

int reader_check_keys(struct reader *r, const json_t *object, const char *const *keys)
{
    if (!json_is_object(object))
        return wrong_type(r, "an object", object);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i])
            continue;
        char known[256] = "";
        for (i = 0; keys[i]; i++) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", keys[i]);
        }
        return reader_complain(r, "Remove the key or correct its spelling.",
                               "the key \"%.*s\" is not allowed here; allowed are: %s.",
                               shown_length(key, MAX_SHOWN), key, known);
    }
    return 0;
}

const json_t *reader_member(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        reader_complain(r, "Add the key; tasks/README.md describes it.",
                        "the key \"%s\" is missing.", key);
    return value;
}

int reader_string(struct reader *r, const json_t *object, const char *key, size_t max_length,
                  const char **ret)
{
    const json_t *value = reader_member(r, object, key);
    if (!value)
        return -1;
    size_t back = reader_key(r, key);
    if (!json_is_string(value))
        return wrong_type(r, "a string", value);
    size_t length = json_string_length(value);
    if (length == 0 || length > max_length)
        return reader_complain(r, "Write a text of that length.",
                               "a text of 1 to %zu bytes is expected; this one has %zu.",
                               max_length, length);
    reader_leave(r, back);
    *ret = json_string_value(value);
    return 0;
}

int reader_as_integer(struct reader *r, const json_t *value, int64_t low, int64_t high,
                      int64_t *ret)
{
    if (!json_is_integer(value))
        return wrong_type(r, "an integer", value);
    int64_t number = json_integer_value(value);
    if (number < low || number > high)
        return reader_complain(r, "Choose a number inside the bounds.",
                               "%lld is outside %lld..%lld.", (long long)number, (long long)low,
                               (long long)high);
    *ret = number;
    return 0;
}

int reader_integer(struct reader *r, const json_t *object, const char *key, int64_t low,
                   int64_t high, int64_t *ret)
{
    const json_t *value = reader_member(r, object, key);
    if (!value)
        return -1;
    size_t back = reader_key(r, key);
    if (reader_as_integer(r, value, low, high, ret))
        return -1;
    reader_leave(r, back);
    return 0;
}

int reader_number(struct reader *r, const json_t *object, const char *key, double low, double high,
                  double *ret)
{
    const json_t *value = reader_member(r, object, key);
    if (!value)
        return -1;
    size_t back = reader_key(r, key);
    if (!json_is_number(value))
        return wrong_type(r, "a number", value);
    double number = json_number_value(value);
    if (!(number >= low && number <= high))
        return reader_complain(r, "Choose a number inside the bounds.", "%g is outside %g..%g.",
                               number, low, high);
    reader_leave(r, back);
    *ret = number;
    return 0;
}

const json_t *reader_array(struct reader *r, const json_t *object, const char *key, size_t low,
                           size_t high)
{
    const json_t *value = reader_member(r, object, key);
    if (!value)
        return NULL;
    size_t back = reader_key(r, key);
    if (!json_is_array(value)) {
        wrong_type(r, "an array", value);
        return NULL;
    }
    size_t n = json_array_size(value);
    if (n < low || n > high) {
        reader_complain(r, "Change the number of elements.",
                        "%zu to %zu elements are expected; there are %zu.", low, high, n);
        return NULL;
    }
    reader_leave(r, back);
    return value;
}
