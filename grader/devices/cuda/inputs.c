#include "inputs.h"

static int queue_input(const struct kernels *kernels, struct launch_target *target,
                       CUdeviceptr base, const struct param *param,
                       const struct layout_buffer *buffer, uint64_t seed, kgrade_error *err)
{
    if (param->kind == PARAM_OUT || buffer->count == 0)
        return 0;
    struct kernels_fill f = inputs_fill(base, param, buffer, seed);
    void *arguments[] = {&f};
    uint64_t runs = buffer->count / KERNELS_FILL_RUN + 1;
    return kernels_launch(kernels, KERNEL_FILL, kernels_blocks(kernels, runs), KERNELS_THREADS,
                          target, arguments, err);
}

/* An output's poison, and the canary of any buffer. */
static int queue_poison(const struct kernels *kernels, struct launch_target *target,
                        CUdeviceptr base, const struct param *param,
                        const struct layout_buffer *buffer, uint64_t poison, kgrade_error *err)
{
    if (buffer->count && param->kind == PARAM_OUT) {
        struct kernels_poison p = inputs_poison(base, param, buffer, poison);
        void *arguments[] = {&p};
        if (kernels_launch(kernels, KERNEL_POISON, kernels_blocks(kernels, p.bytes / 16 + 1),
                           KERNELS_THREADS, target, arguments, err))
            return -1;
    }
    struct kernels_canary c = inputs_canary(base, buffer, poison);
    void *arguments[] = {&c};
    return kernels_launch(kernels, KERNEL_CANARY, kernels_blocks(kernels, c.bytes / 16 + 1),
                          KERNELS_THREADS, target, arguments, err);
}

int inputs_queue(const struct kernels *kernels, struct launch_target *target, CUdeviceptr base,
                 const struct task *task, const struct layout *layout, uint64_t seed,
                 uint64_t poison, kgrade_error *err)
{
    for (size_t i = 0; i < layout->n_buffers; i++) {
        const struct layout_buffer *buffer = &layout->buffers[i];
        const struct param *param = &task->params[buffer->param];
        if (queue_input(kernels, target, base, param, buffer, seed, err) ||
            queue_poison(kernels, target, base, param, buffer, poison, err))
            return -1;
    }
    return 0;
}

int inputs_queue_around(const struct kernels *kernels, struct launch_target *target,
                        CUdeviceptr base, const struct task *task, const struct layout *layout,
                        uint64_t poison, kgrade_error *err)
{
    for (size_t i = 0; i < layout->n_buffers; i++) {
        const struct layout_buffer *buffer = &layout->buffers[i];
        if (queue_poison(kernels, target, base, &task->params[buffer->param], buffer, poison, err))
            return -1;
    }
    return 0;
}
