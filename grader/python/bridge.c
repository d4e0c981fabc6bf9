/*
 * Candidates in Python.
 *
 * A recorder for them is an interpreter that has been told to load this library (a device's recorder, record.c and what
 * belongs to it) before anything else, and to run boot.py.  That calls kgrade_python_main, which serves the grader as
 * every recorder does; what concerns the candidate is passed to functions of boot.py.
 *
 * boot.py calls with Python's lock held and it stays held, so that no other thread of the interpreter runs while a
 * request is waited for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../record/worker.h"
#include "../task/call.h"

#define EXPORT __attribute__((visibility("default")))

/* As boot.py makes it; each returns 1, or 0 after kgrade_python_fail. */
struct python_side {
    int (*start)(void);
    int (*load)(const char *task, const char *source, size_t size);
    int (*prepare)(const char *arguments);
};

EXPORT int kgrade_python_main(const struct python_side *side, void *call);
EXPORT void kgrade_python_fail(const char *code, const char *message, const char *hint);

static struct {
    const struct python_side *side;
    void *call; /* a Python function without arguments: one call of the candidate */
    kgrade_error error;
    /* Of the interpreter that this process is; all belong to its stable interface. */
    void *(*call_object)(void *function, void *arguments);
    void (*drop)(void *object);
    void (*clear_error)(void);
} python;

void kgrade_python_fail(const char *code, const char *message, const char *hint)
{
    /* Of several failures the first one is the cause. */
    if (!python.error.code[0])
        fail(&python.error, code, hint, "%s", message);
}

static int take_error(kgrade_error *err)
{
    if (!python.error.code[0])
        fail(&python.error, "python_exception", "Look at the log.",
             "The interpreter failed without saying why.");
    *err = python.error;
    python.error = (kgrade_error){.code = ""};
    return -1;
}

static int start(kgrade_error *err)
{
    return python.side->start() ? 0 : take_error(err);
}

static int open_call(const struct task *task, struct call **ret, kgrade_error *err)
{
    (void)task;
    return call_new_plain(ret, err);
}

/* The entry that the recorder calls. */
static void invoke(void)
{
    void *result = python.call_object(python.call, NULL);
    if (result) {
        python.drop(result);
        return;
    }
    python.clear_error();
    kgrade_python_fail("python_exception", "The interpreter failed in the call.",
                       "Look at the log.");
}

static int called(kgrade_error *err)
{
    return python.error.code[0] ? take_error(err) : 0;
}

static json_t *describe(const struct param *param)
{
    return json_pack("{s:s, s:s, s:s?}", "name", param->name, "kind", param_kind_name(param->kind),
                     "dtype", param->kind == PARAM_STREAM ? NULL : dtype_name(param->dtype));
}

/* Of a foreign task: how an entry is called, and what with.  Nothing of where inputs and answers come from. */
static json_t *describe_foreign(const struct task *task)
{
    static const char *const kept[] = {"data", "outputs", "init"};
    json_t *variants = json_array(), *variant;
    size_t i;
    if (!task->python) {
        json_decref(variants);
        return NULL;
    }
    json_array_foreach(json_object_get(task->python, "variants"), i, variant)
    {
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++)
            if (json_object_get(variant, kept[k]))
                json_object_set(one, kept[k], json_object_get(variant, kept[k]));
        json_array_append_new(variants, one);
    }
    return json_pack("{s:O, s:O, s:o}", "form", json_object_get(task->python, "form"), "seed",
                     json_object_get(task->python, "seed"), "variants", variants);
}

static int read_source(int fd, struct bytes *ret, kgrade_error *err)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_size < 0)
        return fail_errno(err, "io_failed", NULL, "The candidate could not be read");
    ret->data = malloc((size_t)st.st_size + 1);
    if (!ret->data)
        return fail(err, "out_of_memory", NULL, "No memory for the candidate.");
    while (ret->size < (size_t)st.st_size) {
        ssize_t n =
            pread(fd, ret->data + ret->size, (size_t)st.st_size - ret->size, (off_t)ret->size);
        if (n <= 0)
            return fail_errno(err, "io_failed", NULL, "The candidate could not be read");
        ret->size += (size_t)n;
    }
    ret->data[ret->size] = 0;
    return 0;
}

static int load(const struct task *task, int fd, void (**ret_entry)(void), kgrade_error *err)
{
    cleanup_bytes struct bytes source = {0};
    json_auto_t *parameters = json_array();
    for (size_t i = 0; i < task->n_params; i++)
        json_array_append_new(parameters, describe(&task->params[i]));
    json_auto_t *json = json_pack("{s:s, s:O, s:o*}", "entry", task->entry, "parameters",
                                  parameters, "foreign", describe_foreign(task));
    cleanup_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (!text)
        return fail(err, "out_of_memory", NULL, "No memory for the task.");
    if (read_source(fd, &source, err))
        return -1;
    if (!python.side->load(text, (const char *)source.data, source.size))
        return take_error(err);
    *ret_entry = invoke;
    return 0;
}

static int add_buffer(const struct param *param, const struct expr_scope *scope, void *pointer,
                      json_t *arguments, kgrade_error *err)
{
    json_t *shape = json_array();
    for (size_t axis = 0; axis < param->rank; axis++) {
        int64_t extent;
        if (expr_eval(param->shape[axis], scope, &extent, err)) {
            json_decref(shape);
            return -1;
        }
        json_array_append_new(shape, json_integer(extent));
    }
    json_array_append_new(arguments, json_pack("{s:I, s:o}", "address",
                                               (json_int_t)(uintptr_t)pointer, "shape", shape));
    return 0;
}

static int prepare(const struct task *task, struct call *call, const int64_t *dims,
                   void *const pointers[TASK_MAX_PARAMS], kgrade_error *err)
{
    (void)call;
    struct expr_scope scope = task_scope(task, dims);
    json_auto_t *arguments = json_array();
    size_t dim = 0;
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if (param_is_buffer(param)) {
            if (add_buffer(param, &scope, pointers[i], arguments, err))
                return -1;
        } else if (param->kind == PARAM_STREAM) {
            json_array_append_new(
                arguments, json_pack("{s:I}", "address", (json_int_t)(uintptr_t)pointers[i]));
        } else if (param->kind == PARAM_DIM) {
            json_array_append_new(arguments, json_pack("{s:I}", "value", (json_int_t)dims[dim++]));
        } else {
            bool real = dtype_is_float(param->dtype);
            json_array_append_new(arguments,
                                  real ? json_pack("{s:f}", "value", param->scalar)
                                       : json_pack("{s:I}", "value", (json_int_t)param->scalar));
        }
    }
    cleanup_free char *text = json_dumps(arguments, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return fail(err, "out_of_memory", NULL, "No memory for the arguments.");
    return python.side->prepare(text) ? 0 : take_error(err);
}

static bool resolve(const char *name, void *to, size_t size)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(to, &symbol, size);
    return symbol != NULL;
}

int kgrade_python_main(const struct python_side *side, void *call)
{
    static const struct record_host host = {
        .start = start, .open = open_call, .load = load, .prepare = prepare, .called = called};
    python.side = side;
    python.call = call;
    if (!resolve("PyObject_CallObject", &python.call_object, sizeof python.call_object) ||
        !resolve("Py_DecRef", &python.drop, sizeof python.drop) ||
        !resolve("PyErr_Clear", &python.clear_error, sizeof python.clear_error))
        return -1;
    return record_worker_main(&record_this_device, &host);
}
