#include "host_inputs.h"

#include <string.h>

#include "../../task/values.h"

/* inputs NULL: drawn from seed. */
static void fill(const struct task *task, const struct layout *layout, uint8_t *arena,
                 const uint8_t *inputs, uint64_t seed, uint64_t poison)
{
    for (size_t i = 0; i < layout->n_buffers; i++) {
        const struct layout_buffer *b = &layout->buffers[i];
        const struct param *p = &task->params[b->param];
        uint8_t *at = arena + b->offset;
        if (p->kind == PARAM_OUT)
            values_poison(at, p->dtype, 0, (size_t)b->count, poison, (uint32_t)b->param);
        else if (inputs)
            memcpy(at, inputs + b->offset, (size_t)b->bytes);
        else
            values_fill(at, p->dtype, 0, (size_t)b->count, b->count, &b->values, seed,
                        (uint32_t)b->param);
        values_canary(at + b->bytes, (size_t)b->canary, poison, (uint32_t)b->param);
    }
}

void host_inputs_fill(const struct task *task, const struct layout *layout, uint8_t *arena,
                      uint64_t seed, uint64_t poison)
{
    fill(task, layout, arena, NULL, seed, poison);
}

void host_inputs_copy(const struct task *task, const struct layout *layout, uint8_t *arena,
                      const uint8_t *inputs, uint64_t poison)
{
    fill(task, layout, arena, inputs, 0, poison);
}
