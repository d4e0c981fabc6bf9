#include "body.h"

#include <string.h>

#include "../../sandbox/base/fail.h"

#define GRADE_HINT                                                                                 \
    "The body is a JSON object with the strings \"task\", \"device\" and \"source\", and if "      \
    "wanted \"language\"."

/* The parser recurses once per level and stops at 2048; this stops it where no honest body goes. */
static int check_depth(const char *text, size_t size, kgrade_error *err)
{
    size_t depth = 0;
    int in_string = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = 0;
            continue;
        }
        if (c == '"')
            in_string = 1;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth)
            depth--;
        if (depth > BODY_MAX_DEPTH)
            return fail(err, "json_too_deep", GRADE_HINT,
                        "The body nests objects or arrays more than %d deep.", BODY_MAX_DEPTH);
    }
    return 0;
}

static int parse_failed(const json_error_t *e, kgrade_error *err)
{
    switch ((int)json_error_code(e)) {
    case json_error_invalid_utf8:
        return fail(err, "not_utf8", "Send the body in UTF-8.",
                    "The body is not UTF-8: %s, at line %d, byte %d.", e->text, e->line,
                    e->position);
    case json_error_duplicate_key:
        return fail(err, "duplicate_key", "Give each key once.",
                    "The body gives a key twice: %s, at line %d.", e->text, e->line);
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return fail(err, "nul_in_string", "Leave out \\u0000; no source or name needs it.",
                    "A string in the body holds a NUL character, at line %d, column %d.", e->line,
                    e->column);
    case json_error_stack_overflow:
        return fail(err, "json_too_deep", GRADE_HINT,
                    "The body nests objects or arrays too deeply.");
    case json_error_out_of_memory:
        return fail(err, "out_of_memory", NULL, "There was no memory to read the body.");
    default:
        return fail(err, "malformed_json", GRADE_HINT,
                    "The body is not JSON: %s, at line %d, column %d.", e->text, e->line,
                    e->column);
    }
}

json_t *body_parse(const char *text, size_t size, kgrade_error *err)
{
    if (size == 0) {
        fail(err, "malformed_json", GRADE_HINT, "The body is empty.");
        return NULL;
    }
    if (check_depth(text, size, err))
        return NULL;
    json_error_t e;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!root)
        parse_failed(&e, err);
    return root;
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
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

int body_grade_request(json_t *root, kgrade_request *ret, kgrade_error *err)
{
    if (!json_is_object(root))
        return fail(err, "wrong_type", GRADE_HINT, "The body is %s where an object is expected.",
                    type_name(root));

    kgrade_request request = {0};
    const struct {
        const char *name;
        const char **value;
        int required;
    } fields[] = {
        {"task", &request.task, 1},
        {"device", &request.device, 1},
        {"language", &request.language, 0},
        {"source", &request.source, 1},
    };
    enum { N_FIELDS = sizeof fields / sizeof *fields };

    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        size_t i = 0;
        while (i < N_FIELDS && strcmp(key, fields[i].name))
            i++;
        if (i == N_FIELDS)
            return fail(err, "unknown_field", GRADE_HINT, "The field \"%.100s\" is not known.",
                        key);
        if (json_is_null(value) && !fields[i].required)
            continue;
        if (!json_is_string(value))
            return fail(err, "wrong_type", GRADE_HINT,
                        "The field \"%s\" is %s where a string is expected.", key,
                        type_name(value));
        *fields[i].value = json_string_value(value);
        if (fields[i].value == &request.source)
            request.source_size = json_string_length(value);
    }
    for (size_t i = 0; i < N_FIELDS; i++)
        if (fields[i].required && !*fields[i].value)
            return fail(err, "missing_field", GRADE_HINT, "The field \"%s\" is missing.",
                        fields[i].name);
    *ret = request;
    return 0;
}
