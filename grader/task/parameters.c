/* $.parameters of a task.json. */
#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "values.h"

#define MAX_IDENTIFIER 63
#define MAX_EXACT 9007199254740992 /* 2^53: larger integers are not all doubles */

static const char *const reserved_words[] = {
    /* C and C++, because the same name must work in every language a candidate may be written in */
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
    "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else",
    "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
    "operator", "or", "private", "protected", "public", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try",
    "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void",
    "volatile", "while", "xor",
    /* Python */
    "False", "None", "True", "as", "assert", "async", "await", "def", "del", "elif", "except",
    "finally", "from", "import", "in", "is", "lambda", "nonlocal", "pass", "raise", "with", "yield",
    /* OpenCL C */
    "constant", "generic", "global", "half", "kernel", "local", "pipe", "read_only", "read_write",
    "uchar", "uint", "ulong", "ushort", "write_only",
    /* functions in expressions */
    "min", "max", "ceil_div",
    /* keys beside the dims in cases */
    "count", "devices", "multiple_of", "other_values"};

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    for (size_t i = 0; i < sizeof reserved_words / sizeof *reserved_words; i++)
        if (strcmp(name, reserved_words[i]) == 0)
            return false;
    return true;
}

int parse_identifier(struct reader *r, const json_t *object, const char *key, char **ret)
{
    const char *name;
    if (reader_string(r, object, key, MAX_IDENTIFIER, &name))
        return -1;
    if (!is_identifier(name)) {
        reader_key(r, key);
        return reader_complain(r,
                               "Use letters, digits and underscores, beginning with a letter; no "
                               "keyword of C, C++ or Python and no word of task.json.",
                               "\"%s\" cannot be the name of a C function or parameter.", name);
    }
    *ret = strdup(name);
    return *ret ? 0 : reader_complain(r, NULL, "no memory for a name.");
}

static int parse_kind(struct reader *r, const json_t *object, enum param_kind *ret)
{
    const char *name;
    if (reader_string(r, object, "kind", 16, &name))
        return -1;
    for (int kind = PARAM_IN; kind <= PARAM_STREAM; kind++) {
        if (strcmp(name, param_kind_name((enum param_kind)kind)) == 0) {
            *ret = (enum param_kind)kind;
            return 0;
        }
    }
    reader_key(r, "kind");
    return reader_complain(r, "Use in, out, inout, dim, scalar or stream.", "\"%s\" is no kind.",
                           name);
}

static bool by_value(enum dtype type)
{
    return type == DTYPE_F32 || type == DTYPE_F64 || type == DTYPE_I32 || type == DTYPE_I64;
}

static int parse_dtype(struct reader *r, const json_t *object, enum param_kind kind,
                       enum dtype *ret)
{
    const char *name;
    if (reader_string(r, object, "dtype", 16, &name))
        return -1;
    size_t back = reader_key(r, "dtype");
    if (!dtype_parse(name, ret))
        return reader_complain(r,
                               "Use f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, i64 or bool.",
                               "\"%s\" is no dtype.", name);
    if (kind == PARAM_DIM && *ret != DTYPE_I32 && *ret != DTYPE_I64)
        return reader_complain(r, "Use i32 or i64.", "a dim cannot be %s.", name);
    if (kind == PARAM_SCALAR && !by_value(*ret))
        return reader_complain(r, "Use f32, f64, i32 or i64.", "a scalar cannot be %s.", name);
    reader_leave(r, back);
    return 0;
}

static int parse_shape(struct reader *r, const json_t *object, struct param *param)
{
    const json_t *shape = reader_array(r, object, "shape", 0, TASK_MAX_RANK);
    if (!shape)
        return -1;
    size_t back = reader_key(r, "shape");
    for (size_t i = 0; i < json_array_size(shape); i++) {
        size_t back_to_shape = reader_index(r, i);
        const json_t *extent = json_array_get(shape, i);
        if (!json_is_string(extent))
            return reader_complain(r, "Write the extent as a string, for example \"n\" or \"16\".",
                                   "an extent is an expression in a string.");
        kgrade_error cause;
        if (expr_parse(json_string_value(extent), &param->shape[i], &cause))
            return reader_complain(r, cause.hint, "%s", cause.message);
        param->rank = i + 1;
        reader_leave(r, back_to_shape);
    }
    reader_leave(r, back);
    return 0;
}

/* The largest finite value of a type, as far as it is a double; the least is its negative but for
 * u8 and bool. */
static double largest(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return 0x1.fffffffffffffp1023;
    case DTYPE_F32:
        return 0x1.fffffep127;
    case DTYPE_F16:
        return 65504;
    case DTYPE_BF16:
        return 0x1.fep127;
    case DTYPE_F8E4M3:
        return 448;
    case DTYPE_F8E5M2:
        return 57344;
    case DTYPE_I8:
        return INT8_MAX;
    case DTYPE_U8:
        return UINT8_MAX;
    case DTYPE_I32:
        return INT32_MAX;
    case DTYPE_I64:
        return MAX_EXACT;
    case DTYPE_BOOL:
        return 1;
    case DTYPE_COUNT:
        break;
    }
    return 0;
}

/* Two's complement reaches one further down than up. */
static double least(enum dtype type)
{
    if (type == DTYPE_U8 || type == DTYPE_BOOL)
        return 0;
    return dtype_is_float(type) ? -largest(type) : -largest(type) - 1;
}

/* The range that values are drawn from must lie inside the element type, or its edges would be
 * drawn far too often. */
static int check_range(struct reader *r, enum dtype dtype, const struct distribution *d)
{
    double from = 0, to = 1;
    switch (d->kind) {
    case DISTRIBUTION_UNIFORM:
    case DISTRIBUTION_SORTED:
        break;
    case DISTRIBUTION_NORMAL:
        from = -VALUES_NORMAL_LIMIT;
        to = VALUES_NORMAL_LIMIT;
        break;
    case DISTRIBUTION_INTEGER:
        from = (double)d->low;
        to = (double)d->high;
        break;
    case DISTRIBUTION_PERMUTATION:
        to = 0; /* its end depends on the case */
        break;
    }
    from = from * d->scale + d->offset;
    to = to * d->scale + d->offset;
    double high = largest(dtype), low = least(dtype);
    if (fmin(from, to) < low || fmax(from, to) > high)
        return reader_complain(r, "Change scale, offset, low or high.",
                               "values from %g to %g do not fit in %s, which ends at %g and %g.",
                               fmin(from, to), fmax(from, to), dtype_name(dtype), low, high);
    return 0;
}

int parse_distribution(struct reader *r, const json_t *object, const char *key, enum dtype dtype,
                       struct distribution *d)
{
    static const char *const keys[] = {"distribution", "scale", "offset", NULL};
    static const char *const integer_keys[] = {"distribution", "low",    "high",
                                               "scale",        "offset", NULL};
    const json_t *values = reader_member(r, object, key);
    if (!values)
        return -1;
    *d = (struct distribution){.scale = 1};
    size_t back = reader_key(r, key);
    /* The keys depend on the distribution, so a value that is no object is refused first. */
    if (!json_is_object(values))
        return reader_check_keys(r, values, keys);
    const char *name;
    if (reader_string(r, values, "distribution", 16, &name))
        return -1;
    int kind = DISTRIBUTION_UNIFORM;
    while (kind <= DISTRIBUTION_SORTED &&
           strcmp(name, distribution_kind_name((enum distribution_kind)kind)) != 0)
        kind++;
    if (kind > DISTRIBUTION_SORTED) {
        reader_key(r, "distribution");
        return reader_complain(r, "Use uniform, normal, integer, permutation or sorted.",
                               "\"%s\" is no distribution.", name);
    }
    d->kind = (enum distribution_kind)kind;
    if (reader_check_keys(r, values, d->kind == DISTRIBUTION_INTEGER ? integer_keys : keys))
        return -1;
    if (d->kind == DISTRIBUTION_INTEGER &&
        (reader_integer(r, values, "low", -MAX_EXACT, MAX_EXACT, &d->low) ||
         reader_integer(r, values, "high", d->low, MAX_EXACT, &d->high)))
        return -1;
    if (json_object_get(values, "scale") &&
        reader_number(r, values, "scale", -1e300, 1e300, &d->scale))
        return -1;
    if (json_object_get(values, "offset") &&
        reader_number(r, values, "offset", -1e300, 1e300, &d->offset))
        return -1;
    if (d->scale == 0)
        return reader_complain(r, "Choose another scale.",
                               "a scale of 0 gives the same value everywhere.");
    if (check_range(r, dtype, d))
        return -1;
    reader_leave(r, back);
    return 0;
}

static int parse_scalar(struct reader *r, const json_t *object, struct param *param)
{
    double limit = largest(param->dtype);
    if (reader_number(r, object, "value", -limit, limit, &param->scalar))
        return -1;
    if (!dtype_is_float(param->dtype) && param->scalar != floor(param->scalar)) {
        reader_key(r, "value");
        return reader_complain(r, "Write an integer or use a floating-point dtype.",
                               "%g is not an integer.", param->scalar);
    }
    /* The reference must see the number that the candidate sees. */
    if (param->dtype == DTYPE_F32)
        param->scalar = (double)(float)param->scalar;
    return 0;
}

/* foreign: values come from the task's Python. */
static const char *const *keys_of(enum param_kind kind, bool foreign)
{
    static const char *const input[] = {"name", "kind", "dtype", "shape", "values", NULL};
    static const char *const output[] = {"name", "kind", "dtype", "shape", NULL};
    static const char *const dim[] = {"name", "kind", "dtype", NULL};
    static const char *const scalar[] = {"name", "kind", "dtype", "value", NULL};
    static const char *const stream[] = {"name", "kind", NULL};
    switch (kind) {
    case PARAM_IN:
    case PARAM_INOUT:
        return foreign ? output : input;
    case PARAM_OUT:
        return output;
    case PARAM_DIM:
        return dim;
    case PARAM_SCALAR:
        return scalar;
    case PARAM_STREAM:
        break;
    }
    return stream;
}

static int parse_parameter(struct reader *r, const json_t *object, bool foreign,
                           struct param *param)
{
    if (!json_is_object(object))
        return reader_check_keys(r, object, keys_of(PARAM_STREAM, foreign));
    if (parse_kind(r, object, &param->kind) ||
        reader_check_keys(r, object, keys_of(param->kind, foreign)) ||
        parse_identifier(r, object, "name", &param->name))
        return -1;
    if (param->kind == PARAM_STREAM)
        return 0;
    if (parse_dtype(r, object, param->kind, &param->dtype))
        return -1;
    if (param->kind == PARAM_SCALAR)
        return parse_scalar(r, object, param);
    if (param_is_buffer(param) && parse_shape(r, object, param))
        return -1;
    if (!foreign && (param->kind == PARAM_IN || param->kind == PARAM_INOUT))
        return parse_distribution(r, object, "values", param->dtype, &param->values);
    return 0;
}

static const struct param *same_name(const struct task *task, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(task->params[i].name, name) == 0)
            return &task->params[i];
    return NULL;
}

int parse_parameters(struct reader *r, const json_t *root, struct task *task)
{
    const json_t *list = reader_array(r, root, "parameters", 1, TASK_MAX_PARAMS);
    if (!list)
        return -1;
    size_t back = reader_key(r, "parameters");
    size_t n_outputs = 0, n_streams = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct param *param = &task->params[i];
        task->n_params = i + 1;
        size_t back_to_list = reader_index(r, i);
        if (parse_parameter(r, json_array_get(list, i), task->python != NULL, param))
            return -1;
        if (same_name(task, i, param->name) || strcmp(param->name, task->entry) == 0)
            return reader_complain(r, "Give every parameter a name of its own.",
                                   "the name \"%s\" is already taken.", param->name);
        task->n_dims += param->kind == PARAM_DIM;
        n_outputs += param->kind == PARAM_OUT || param->kind == PARAM_INOUT;
        n_streams += param->kind == PARAM_STREAM;
        reader_leave(r, back_to_list);
    }
    if (n_outputs == 0)
        return reader_complain(r, "Add a parameter of kind out or inout.",
                               "nothing is written, so nothing can be judged.");
    if (n_streams > 1)
        return reader_complain(r, "Keep one parameter of kind stream.",
                               "there is more than one stream.");
    reader_leave(r, back);
    return 0;
}
