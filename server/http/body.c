#include "body.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define GRADE_HINT                                                                                 \
    "A request to grade is a JSON object with the strings \"task\", \"device\" and \"source\" "    \
    "(or an "                                                                                      \
    "object \"files\" of several), and if wanted \"language\", \"profile\", \"reuse\" and "        \
    "\"deadline_s\"."

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
    if (memchr(text, 0, size)) { /* which jansson overlooks behind a number */
        fail(err, "malformed_json", GRADE_HINT, "The body is not JSON: it holds a NUL byte.");
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

/* What a field may hold, and where it goes. */
struct field {
    const char *name;
    enum { TEXT, SECONDS, CHOICE, FILES } kind;
    bool required;
    void *value;
};

static int read_field(const struct field *f, const json_t *value, kgrade_error *err)
{
    static const char *const expected[] = {"a string", "a number", "a boolean", "an object"};
    bool right = f->kind == TEXT      ? json_is_string(value)
                 : f->kind == SECONDS ? json_is_number(value)
                 : f->kind == FILES   ? json_is_object(value)
                                      : json_is_boolean(value);
    if (!right)
        return fail(err, "wrong_type", GRADE_HINT, "The field \"%s\" is %s where %s is expected.",
                    f->name, type_name(value), expected[f->kind]);
    if (f->kind == TEXT)
        *(const char **)f->value = json_string_value(value);
    else if (f->kind == CHOICE)
        *(bool *)f->value = json_is_true(value);
    else if (f->kind == FILES)
        *(const json_t **)f->value = value;
    else
        *(double *)f->value = json_number_value(value);
    return 0;
}

static int check_deadline(const json_t *root, double seconds, kgrade_error *err)
{
    const json_t *given = json_object_get(root, "deadline_s");
    if (!given || json_is_null(given) || (seconds > 0 && seconds <= BODY_MAX_DEADLINE_S))
        return 0;
    return fail(err, "out_of_range", "Leave it out for no deadline.",
                "The field \"deadline_s\" is %g; it must be above 0 and at most %d.", seconds,
                BODY_MAX_DEADLINE_S);
}

/* Several files become one source, which the body then holds as if it had come so. */
static int take_files(json_t *root, const json_t *files, struct body_grade *body, kgrade_error *err)
{
    if (files && body->grade.source)
        return fail(err, "unknown_field", GRADE_HINT,
                    "A source is given as \"source\" or as \"files\", not both.");
    if (!files && !body->grade.source)
        return fail(err, "missing_field", GRADE_HINT, "The field \"source\" is missing.");
    if (!files)
        return 0;
    cleanup_free kgrade_file *list = calloc(json_object_size(files) + 1, sizeof *list);
    cleanup_free char *text = NULL;
    size_t n = 0;
    const char *name;
    const json_t *one;
    json_object_foreach((json_t *)files, name, one)
    {
        if (!json_is_string(one))
            return fail(err, "wrong_type", GRADE_HINT,
                        "The file \"%.100s\" is %s where a string is expected.", name,
                        type_name(one));
        if (list)
            list[n++] = (kgrade_file){name, json_string_value(one), json_string_length(one)};
    }
    if (!list)
        return fail(err, "out_of_memory", NULL, "There is no memory for the source.");
    if (kgrade_bundle(list, n, &text, err))
        return -1;
    if (json_object_set_new(root, "source", json_string(text)))
        return fail(err, "out_of_memory", NULL, "There is no memory for the source.");
    body->grade.source = json_string_value(json_object_get(root, "source"));
    return 0;
}

int body_grade(json_t *root, struct body_grade *ret, kgrade_error *err)
{
    if (!json_is_object(root))
        return fail(err, "wrong_type", GRADE_HINT, "The request is %s where an object is expected.",
                    type_name(root));

    struct body_grade body = {0};
    const json_t *files = NULL;
    const struct field fields[] = {
        {"task", TEXT, true, &body.grade.task},
        {"device", TEXT, true, &body.grade.device},
        {"language", TEXT, false, &body.grade.language},
        {"source", TEXT, false, &body.grade.source},
        {"files", FILES, false, &files},
        {"profile", CHOICE, false, &body.grade.profile},
        {"reuse", CHOICE, false, &body.reuse},
        {"deadline_s", SECONDS, false, &body.deadline_s},
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
        if (read_field(&fields[i], value, err))
            return -1;
    }
    for (size_t i = 0; i < N_FIELDS; i++)
        if (fields[i].required && !*(const char **)fields[i].value)
            return fail(err, "missing_field", GRADE_HINT, "The field \"%s\" is missing.",
                        fields[i].name);
    if (check_deadline(root, body.deadline_s, err) || take_files(root, files, &body, err))
        return -1;
    body.grade.source_size = json_string_length(json_object_get(root, "source"));
    *ret = body;
    return 0;
}

int body_batch(json_t *root, json_t **ret_grades, kgrade_error *err)
{
    static const char hint[] = "The body is {\"grades\": [...]}, each of them as for POST /grade.";
    if (!json_is_object(root))
        return fail(err, "wrong_type", hint, "The body is %s where an object is expected.",
                    type_name(root));
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "grades"))
            return fail(err, "unknown_field", hint, "The field \"%.100s\" is not known.", key);
    }
    json_t *grades = json_object_get(root, "grades");
    if (!grades)
        return fail(err, "missing_field", hint, "The field \"grades\" is missing.");
    if (!json_is_array(grades))
        return fail(err, "wrong_type", hint,
                    "The field \"grades\" is %s where an array is expected.", type_name(grades));
    size_t n = json_array_size(grades);
    if (!n || n > BODY_MAX_BATCH)
        return fail(err, "out_of_range", "Send several batches.",
                    "The field \"grades\" has %zu of them; 1 to %d are taken at once.", n,
                    BODY_MAX_BATCH);
    *ret_grades = grades;
    return 0;
}
