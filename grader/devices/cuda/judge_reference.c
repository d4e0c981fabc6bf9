/*
 * Inputs are drawn again in memory of the judge's own, never taken from the arena; of the arena, only outputs are copied.
 * All memory comes from the device's pool, in the order of the stream, and goes back there: after the first sample of a
 * size it costs nothing.
 */
#define _GNU_SOURCE
#include "judge_reference.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../worker_io.h"
#include "inputs.h"

#define SYMBOL "reference_cuda"
#define FIRST_MEMORY_PART 128 /* of the device's: enough for most tasks */
#define MEMORY_HINT "Make the task's largest case smaller, or use a card with more memory."

/* Device memory for each buffer of a layout, by its index there; 0: none. */
struct device_outputs {
    CUdeviceptr at[TASK_MAX_PARAMS];
};

/* What the reference works on. */
struct workplace {
    CUdeviceptr drawn;          /* the whole case, as a layout places it: inputs, poison */
    struct device_outputs wide; /* outputs, in the reference's types */
};

/* What fails here fails again where the memory is needed, or costs time only. */
void device_reference_ready_memory(const struct driver_context *context, CUstream stream)
{
    CUmemoryPool pool;
    CUdeviceptr first;
    cuuint64_t everything = UINT64_MAX;
    size_t memory = 0;
    CUresult result = cuDeviceGetDefaultMemPool(&pool, context->device);
    if (result == CUDA_SUCCESS)
        result = cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything);
    if (result == CUDA_SUCCESS)
        result = cuDeviceTotalMem(&memory, context->device);
    if (result == CUDA_SUCCESS)
        result = cuMemAllocAsync(&first, memory / FIRST_MEMORY_PART, stream);
    if (result == CUDA_SUCCESS)
        result = cuMemFreeAsync(first, stream);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(stream);
    if (result != CUDA_SUCCESS)
        driver_trace("the judge's pool was not filled (%d)", (int)result);
}

static int load(struct device_reference *r, int library_fd, kgrade_error *err)
{
    void *library = worker_load(library_fd);
    void *symbol = library ? dlsym(library, SYMBOL) : NULL;
    if (!symbol)
        return fail(err, "reference_failed",
                    "Define `" SYMBOL "` with C linkage in the task's reference.cuda.cu.",
                    "The task's reference for the device could not be loaded: %s",
                    worker_load_error());
    memcpy(&r->function, &symbol, sizeof symbol);
    return 0;
}

int device_reference_open(struct device_reference *ret, const struct driver_context *context,
                          CUstream stream, const struct task *task, int library_fd,
                          kgrade_error *err)
{
    struct device_reference r = {.task = task, .stream = stream};
    if (kernels_open(&r.kernels, context, err) || comparer_open(&r.comparer, stream, err) ||
        call_new_device_reference(task, &r.call, err) || load(&r, library_fd, err)) {
        device_reference_close(&r);
        return -1;
    }
    call_set_queue(r.call, stream);
    *ret = r;
    return 0;
}

void device_reference_close(struct device_reference *r)
{
    call_free(r->call);
    comparer_close(&r->comparer);
    kernels_close(&r->kernels);
    *r = (struct device_reference){.task = NULL};
}

/* --- memory --- */

static int take(const struct device_reference *r, uint64_t bytes, CUdeviceptr *ret,
                kgrade_error *err)
{
    CUresult result = cuMemAllocAsync(ret, bytes ? bytes : 1, r->stream);
    if (result == CUDA_SUCCESS)
        return 0;
    *ret = 0;
    return result == CUDA_ERROR_OUT_OF_MEMORY
               ? fail(err, "judge_memory", MEMORY_HINT,
                      "The device has no %llu bytes left for the judge.", (unsigned long long)bytes)
               : driver_fail(err, "device_failed", result, "Taking memory for the judge");
}

static void give_back(const struct device_reference *r, CUdeviceptr *memory)
{
    if (*memory)
        cuMemFreeAsync(*memory, r->stream);
    *memory = 0;
}

static void give_back_all(const struct device_reference *r, struct device_outputs *outputs)
{
    for (size_t i = 0; i < TASK_MAX_PARAMS; i++)
        give_back(r, &outputs->at[i]);
}

/* --- running the reference --- */

static const struct param *param_of(const struct device_reference *r, const struct judge_case *c,
                                    size_t i)
{
    return &r->task->params[c->layout.buffers[i].param];
}

static int draw(const struct device_reference *r, const struct judge_case *c, CUdeviceptr to,
                kgrade_error *err)
{
    struct launch_target target = {.stream = r->stream};
    return inputs_queue(&r->kernels, &target, to, r->task, &c->layout, c->seed, c->poison, err);
}

/* One output's place, holding what the reference may find there: zeros, or what was drawn for it. */
static int place_output(const struct device_reference *r, const struct layout_buffer *b,
                        const struct param *p, struct workplace *w, CUdeviceptr *ret,
                        kgrade_error *err)
{
    if (take(r, b->count * 8, ret, err))
        return -1;
    if (b->count == 0)
        return 0;
    if (p->kind == PARAM_INOUT)
        return comparer_widen(&r->comparer, p->dtype, w->drawn + b->offset, *ret, b->count, err);
    DRIVER_TRY(err, cuMemsetD8Async(*ret, 0, b->count * 8, r->stream));
    return 0;
}

static int place(const struct device_reference *r, const struct judge_case *c, struct workplace *w,
                 kgrade_error *err)
{
    if (take(r, c->layout.bytes, &w->drawn, err) || draw(r, c, w->drawn, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = param_of(r, c, i);
        CUdeviceptr at = w->drawn + b->offset;
        if (p->kind != PARAM_IN) {
            if (place_output(r, b, p, w, &w->wide.at[i], err))
                return -1;
            at = w->wide.at[i];
        }
        call_set_pointer(r->call, b->param, (void *)(uintptr_t)at); /* NOLINT: a device's address */
    }
    return 0;
}

static void clear(const struct device_reference *r, struct workplace *w)
{
    give_back(r, &w->drawn);
    give_back_all(r, &w->wide);
}

static int run(const struct device_reference *r, const struct judge_case *c, struct workplace *w,
               kgrade_error *err)
{
    if (place(r, c, w, err))
        return -1;
    call_set_dims(r->call, c->dims);
    int status = call_invoke_device_reference(r->call, r->function);
    if (status)
        return fail(err, "reference_failed",
                    "Mend the task's reference.cuda.cu: it must work for every case.",
                    "The task's reference for the device returned error %d of the CUDA runtime.",
                    status);
    DRIVER_TRY(err, cuStreamSynchronize(r->stream));
    return 0;
}

int device_reference_evaluate(const struct device_reference *r, const struct judge_case *c,
                              void *const *wide, kgrade_error *err)
{
    struct workplace w = {.drawn = 0};
    int result = run(r, c, &w, err);
    for (size_t i = 0; !result && i < c->layout.n_buffers; i++) {
        uint64_t count = c->layout.buffers[i].count;
        CUresult copied =
            count && w.wide.at[i] ? cuMemcpyDtoH(wide[i], w.wide.at[i], count * 8) : CUDA_SUCCESS;
        if (copied != CUDA_SUCCESS)
            result = driver_fail(err, "device_failed", copied, "Copying the reference's results");
    }
    clear(r, &w);
    return result;
}

/* --- a sample --- */

static int check_inputs(const struct device_reference *r, const struct judge_case *c,
                        CUdeviceptr buffers, CUdeviceptr drawn, bool *ret_changed,
                        kgrade_error *err)
{
    *ret_changed = false;
    if (draw(r, c, drawn, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        bool same = true;
        if (param_of(r, c, i)->kind == PARAM_IN &&
            comparer_same(&r->comparer, buffers + b->offset, drawn + b->offset, b->bytes, &same,
                          err))
            return -1;
        *ret_changed = *ret_changed || !same;
    }
    return 0;
}

static int copy_outputs(const struct device_reference *r, const struct judge_case *c,
                        CUdeviceptr buffers, struct device_outputs *kept, kgrade_error *err)
{
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        if (param_of(r, c, i)->kind == PARAM_IN)
            continue;
        if (take(r, b->bytes, &kept->at[i], err))
            return -1;
        if (b->bytes)
            DRIVER_TRY(err,
                       cuMemcpyDtoDAsync(kept->at[i], buffers + b->offset, b->bytes, r->stream));
    }
    DRIVER_TRY(err, cuStreamSynchronize(r->stream));
    return 0;
}

int device_reference_keep(const struct device_reference *r, const struct judge_case *c,
                          CUdeviceptr buffers, struct device_outputs **ret, bool *ret_changed,
                          kgrade_error *err)
{
    struct device_outputs *kept = calloc(1, sizeof *kept);
    CUdeviceptr drawn = 0;
    if (!kept)
        return fail(err, "out_of_memory", NULL, "No memory for a snapshot.");
    int result = copy_outputs(r, c, buffers, kept, err) || take(r, c->layout.bytes, &drawn, err) ||
                 check_inputs(r, c, buffers, drawn, ret_changed, err);
    give_back(r, &drawn);
    if (result) {
        device_reference_drop(r, kept);
        return -1;
    }
    *ret = kept;
    return 0;
}

int device_reference_compare(const struct device_reference *r, const struct judge_case *c,
                             const struct device_outputs *kept, struct comparison *ret,
                             kgrade_error *err)
{
    struct workplace w = {.drawn = 0};
    int result = run(r, c, &w, err);
    for (size_t i = 0; !result && i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = param_of(r, c, i);
        if (p->kind == PARAM_IN)
            continue;
        result = comparer_output(&r->comparer, p->dtype, kept->at[i],
                                 p->kind == PARAM_OUT ? w.drawn + b->offset : 0, w.wide.at[i],
                                 b->count, task_tolerance(r->task, p->dtype), &ret[i], err);
    }
    clear(r, &w);
    return result;
}

void device_reference_drop(const struct device_reference *r, struct device_outputs *kept)
{
    give_back_all(r, kept);
    free(kept);
}
