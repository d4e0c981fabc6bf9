#include "recording_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fields_complain(struct fields *f, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fail_set(f->err, "recording_invalid", "Record the candidate again with this version of kgrade.",
             "The recording is not valid at %s: %s.", f->where, text);
}

int fields_object(struct fields *f, json_t *json, size_t n)
{
    if (!json_is_object(json))
        return fields_bad(f, "an object was expected");
    if (json_object_size(json) != n)
        return fields_bad(f, "%zu keys where %zu were expected", json_object_size(json), n);
    return 0;
}

int fields_integer(struct fields *f, json_t *json, const char *key, uint64_t max, uint64_t *ret)
{
    json_t *value = key ? json_object_get(json, key) : json;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return fields_bad(f, "\"%s\" must be an integer from 0 to %llu", key ? key : "element",
                          (unsigned long long)max);
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

int fields_u32(struct fields *f, json_t *json, const char *key, uint32_t max, uint32_t *ret)
{
    uint64_t value;
    if (fields_integer(f, json, key, max, &value))
        return -1;
    *ret = (uint32_t)value;
    return 0;
}

int fields_index_of(struct fields *f, json_t *json, const char *key, size_t n, size_t *ret)
{
    uint64_t value;
    if (n == 0)
        return fields_bad(f, "\"%s\" refers to an empty list", key);
    if (fields_integer(f, json, key, n - 1, &value))
        return -1;
    *ret = (size_t)value;
    return 0;
}

int fields_string(struct fields *f, json_t *json, const char *key, size_t max, const char **ret)
{
    json_t *value = json_object_get(json, key);
    if (!json_is_string(value) || json_string_length(value) > max)
        return fields_bad(f, "\"%s\" must be a string of at most %zu bytes", key, max);
    *ret = json_string_value(value);
    return 0;
}

int fields_array(struct fields *f, json_t *json, const char *key, size_t max, json_t **ret)
{
    json_t *value = json_object_get(json, key);
    if (!json_is_array(value) || json_array_size(value) > max)
        return fields_bad(f, "\"%s\" must be a list of at most %zu", key, max);
    *ret = value;
    return 0;
}

int fields_hex(struct fields *f, json_t *json, const char *key, size_t max, uint8_t *to,
               uint32_t *ret_size)
{
    const char *text;
    if (fields_string(f, json, key, 2 * max, &text))
        return -1;
    size_t n = strlen(text);
    if (n % 2)
        return fields_bad(f, "\"%s\" has an odd number of digits", key);
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return fields_bad(f, "\"%s\" is not lower-case hexadecimal", key);
        to[i / 2] = (uint8_t)(i % 2 ? to[i / 2] | digit : digit << 4);
    }
    *ret_size = (uint32_t)(n / 2);
    return 0;
}

int fields_three(struct fields *f, json_t *json, const char *key, uint64_t max, uint64_t ret[3])
{
    json_t *list;
    if (fields_array(f, json, key, 3, &list))
        return -1;
    if (json_array_size(list) != 3)
        return fields_bad(f, "\"%s\" must have three elements", key);
    for (size_t i = 0; i < 3; i++)
        if (fields_integer(f, json_array_get(list, i), NULL, max, &ret[i]))
            return -1;
    return 0;
}
