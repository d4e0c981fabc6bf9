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
#include "arguments.h"

#define EXPORT __attribute__((visibility("default")))

/* As boot.py makes it; each returns 1, or 0 after kgrade_python_fail. */
struct python_side {
    int (*start)(void);
    int (*load)(const char *task, const char *source, size_t size);
    int (*prepare)(const char *arguments);
    int (*seed)(const char *files, size_t size);
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

static int read_file(int fd, struct bytes *ret, kgrade_error *err)
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
    cleanup_free char *text = arguments_task(task, err);
    if (!text || read_file(fd, &source, err))
        return -1;
    if (!python.side->load(text, (const char *)source.data, source.size))
        return take_error(err);
    *ret_entry = invoke;
    return 0;
}

static int prepare(const struct task *task, struct call *call, const int64_t *dims,
                   void *const pointers[TASK_MAX_PARAMS], kgrade_error *err)
{
    (void)call;
    cleanup_free char *text = arguments_call(task, dims, pointers, err);
    if (!text)
        return -1;
    return python.side->prepare(text) ? 0 : take_error(err);
}

static int take_seed(int fd, kgrade_error *err)
{
    cleanup_bytes struct bytes seed = {0};
    if (read_file(fd, &seed, err))
        return -1;
    return python.side->seed((const char *)seed.data, seed.size) ? 0 : take_error(err);
}

static bool resolve(const char *name, void *to, size_t size)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(to, &symbol, size);
    return symbol != NULL;
}

int kgrade_python_main(const struct python_side *side, void *call)
{
    static const struct record_host host = {.start = start,
                                            .open = open_call,
                                            .seed = take_seed,
                                            .load = load,
                                            .prepare = prepare,
                                            .called = called};
    python.side = side;
    python.call = call;
    if (!resolve("PyObject_CallObject", &python.call_object, sizeof python.call_object) ||
        !resolve("Py_DecRef", &python.drop, sizeof python.drop) ||
        !resolve("PyErr_Clear", &python.clear_error, sizeof python.clear_error))
        return -1;
    return record_worker_main(&record_this_device, &host);
}
