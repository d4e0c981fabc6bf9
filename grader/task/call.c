#define _GNU_SOURCE
#include "call.h"

#include <ffi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define NOT_PASSED SIZE_MAX
#define MAX_ARGUMENTS (TASK_MAX_PARAMS + 1) /* the queue of a device's reference comes on top */
#define PROTOTYPE_COLUMNS 100

union value {
    void *pointer;
    double f64;
    float f32;
    int64_t i64;
    int32_t i32;
};

struct call {
    ffi_cif cif;
    size_t n_args, n_params;
    ffi_type *types[MAX_ARGUMENTS];
    void *arguments[MAX_ARGUMENTS]; /* arguments[i] points at values[i] */
    union value values[MAX_ARGUMENTS];
    enum param_kind kinds[MAX_ARGUMENTS]; /* by argument */
    size_t argument_of[TASK_MAX_PARAMS];  /* by parameter; NOT_PASSED for a reference's stream */
    bool has_queue;                       /* the last argument is a device's reference's queue */
};

enum signature { SIGNATURE_ENTRY, SIGNATURE_REFERENCE, SIGNATURE_DEVICE_REFERENCE };

static ffi_type *ffi_type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return &ffi_type_double;
    case DTYPE_F32:
        return &ffi_type_float;
    case DTYPE_I32:
        return &ffi_type_sint32;
    case DTYPE_I64:
        return &ffi_type_sint64;
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_BOOL:
    case DTYPE_COUNT:
        break;
    }
    return NULL;
}

static void set_number(struct call *call, size_t argument, double real, int64_t integer)
{
    if (call->types[argument] == &ffi_type_double)
        call->values[argument].f64 = real;
    else if (call->types[argument] == &ffi_type_float)
        call->values[argument].f32 = (float)real;
    else if (call->types[argument] == &ffi_type_sint32)
        call->values[argument].i32 = (int32_t)integer;
    else
        call->values[argument].i64 = integer;
}

static size_t add_argument(struct call *call, enum param_kind kind)
{
    size_t argument = call->n_args++;
    call->kinds[argument] = kind;
    call->arguments[argument] = &call->values[argument];
    call->types[argument] = &ffi_type_pointer;
    return argument;
}

static int call_new(const struct task *task, enum signature signature, struct call **ret,
                    kgrade_error *err)
{
    bool reference = signature != SIGNATURE_ENTRY;
    cleanup_free struct call *call = calloc(1, sizeof *call);
    if (!call)
        return fail(err, "out_of_memory", NULL, "No memory for a call.");
    call->n_params = task->n_params;
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if (reference && param->kind == PARAM_STREAM) {
            call->argument_of[i] = NOT_PASSED;
            continue;
        }
        size_t argument = add_argument(call, param->kind);
        call->argument_of[i] = argument;
        if (param->kind != PARAM_DIM && param->kind != PARAM_SCALAR)
            continue;
        enum dtype type = param->dtype;
        if (reference)
            type = dtype_is_float(type) ? DTYPE_F64 : DTYPE_I64;
        call->types[argument] = ffi_type_of(type);
        if (!call->types[argument])
            return fail(err, "call_failed", "Use f32, f64, i32 or i64.",
                        "The parameter %s of type %s cannot be passed by value.", param->name,
                        dtype_name(param->dtype));
        if (param->kind == PARAM_SCALAR)
            set_number(call, argument, param->scalar,
                       dtype_is_float(type) ? 0 : (int64_t)param->scalar);
    }
    call->has_queue = signature == SIGNATURE_DEVICE_REFERENCE;
    if (call->has_queue)
        add_argument(call, PARAM_STREAM);
    if (ffi_prep_cif(&call->cif, FFI_DEFAULT_ABI, (unsigned)call->n_args,
                     call->has_queue ? &ffi_type_sint : &ffi_type_void, call->types) != FFI_OK)
        return fail(err, "call_failed", NULL, "libffi cannot call the signature of task %s.",
                    task->name);
    *ret = steal_pointer(&call);
    return 0;
}

int call_new_entry(const struct task *task, struct call **ret, kgrade_error *err)
{
    return call_new(task, SIGNATURE_ENTRY, ret, err);
}

int call_new_plain(struct call **ret, kgrade_error *err)
{
    cleanup_free struct call *call = calloc(1, sizeof *call);
    if (!call)
        return fail(err, "out_of_memory", NULL, "No memory for a call.");
    if (ffi_prep_cif(&call->cif, FFI_DEFAULT_ABI, 0, &ffi_type_void, NULL) != FFI_OK)
        return fail(err, "call_failed", NULL, "libffi cannot call a function without arguments.");
    *ret = steal_pointer(&call);
    return 0;
}

int call_new_reference(const struct task *task, struct call **ret, kgrade_error *err)
{
    return call_new(task, SIGNATURE_REFERENCE, ret, err);
}

int call_new_device_reference(const struct task *task, struct call **ret, kgrade_error *err)
{
    return call_new(task, SIGNATURE_DEVICE_REFERENCE, ret, err);
}

void call_free(struct call *call)
{
    free(call);
}

void call_set_dims(struct call *call, const int64_t *dims)
{
    size_t dim = 0;
    for (size_t i = 0; i < call->n_args; i++) {
        if (call->kinds[i] != PARAM_DIM)
            continue;
        set_number(call, i, 0, dims[dim++]);
    }
}

void call_set_pointer(struct call *call, size_t param, void *value)
{
    if (param >= call->n_params || call->argument_of[param] == NOT_PASSED)
        return;
    size_t argument = call->argument_of[param];
    if (call->types[argument] == &ffi_type_pointer)
        call->values[argument].pointer = value;
}

void call_set_queue(struct call *call, void *queue)
{
    if (call->has_queue)
        call->values[call->n_args - 1].pointer = queue;
}

void call_invoke(struct call *call, void (*function)(void))
{
    ffi_call(&call->cif, function, NULL, call->arguments);
}

int call_invoke_device_reference(struct call *call, void (*function)(void))
{
    ffi_arg result = 0; /* libffi widens a returned int to this */
    ffi_call(&call->cif, function, &result, call->arguments);
    return (int)result;
}

static const char *c_type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return "double";
    case DTYPE_F32:
        return "float";
    case DTYPE_I32:
        return "int";
    case DTYPE_I64:
        return "int64_t";
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_BOOL:
    case DTYPE_COUNT:
        break;
    }
    return "void";
}

static char *argument_text(const struct param *param, char *(*buffer)(const struct param *),
                           const char *stream)
{
    if (param_is_buffer(param))
        return buffer(param);
    const char *type = param->kind == PARAM_STREAM ? stream : c_type_of(param->dtype);
    char *text;
    return asprintf(&text, "%s %s", type, param->name) < 0 ? NULL : text;
}

char *call_prototype(const struct task *task, char *(*buffer)(const struct param *),
                     const char *stream)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    bool complete = true;
    int indent = fprintf(out, "void %s(", task->entry), column = indent;
    for (size_t i = 0; i < task->n_params; i++) {
        cleanup_free char *argument = argument_text(&task->params[i], buffer, stream);
        if (!argument) {
            complete = false;
            break;
        }
        if (i > 0) {
            /* Room for the comma or parenthesis that follows. */
            bool fits = column + 2 + (int)strlen(argument) + 1 <= PROTOTYPE_COLUMNS;
            if (fits)
                column += fprintf(out, ", ");
            else
                column = fprintf(out, ",\n%*s", indent, "") - 2;
        }
        column += fprintf(out, "%s", argument);
    }
    fprintf(out, ")");
    if (fclose(out) || !complete)
        return NULL;
    return steal_pointer(&text);
}
