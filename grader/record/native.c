/* Candidates that are shared objects: loaded by the dynamic loader, called through libffi. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../task/call.h"
#include "../worker_io.h"
#include "worker.h"

static int load(const struct task *task, int fd, void (**ret_entry)(void), kgrade_error *err)
{
    void *library = worker_load(fd);
    if (!library)
        return fail(
            err, "load_failed",
            "Call only functions of the C library and those that the device offers to candidates.",
            "The candidate could not be loaded: %s", worker_load_error());
    void *symbol = dlsym(library, task->entry);
    if (!symbol)
        return fail(err, "missing_entry",
                    "Define it with C linkage, not static, and with the task's parameters.",
                    "The candidate does not export the entry point \"%s\".", task->entry);
    memcpy(ret_entry, &symbol, sizeof symbol);
    return 0;
}

static int prepare(const struct task *task, struct call *call, const int64_t *dims,
                   void *const pointers[TASK_MAX_PARAMS], kgrade_error *err)
{
    (void)err;
    call_set_dims(call, dims);
    for (size_t i = 0; i < task->n_params; i++) {
        enum param_kind kind = task->params[i].kind;
        if (kind != PARAM_DIM && kind != PARAM_SCALAR)
            call_set_pointer(call, i, pointers[i]);
    }
    return 0;
}

const struct record_host record_host_native = {
    .open = call_new_entry, .load = load, .prepare = prepare};
