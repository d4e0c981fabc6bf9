/* A case's buffers, made on the host. */
#ifndef KGRADE_DEVICES_HOST_INPUTS_H
#define KGRADE_DEVICES_HOST_INPUTS_H

#include "../../task/task.h"

/* Writes into `arena` (layout->bytes bytes): inputs drawn from seed, outputs poisoned and canaries written from poison.  The
 * guard pages between buffers are not touched. */
void host_inputs_fill(const struct task *task, const struct layout *layout, uint8_t *arena,
                      uint64_t seed, uint64_t poison);

/* The same with inputs that were made elsewhere: `inputs` holds them where the layout says. */
void host_inputs_copy(const struct task *task, const struct layout *layout, uint8_t *arena,
                      const uint8_t *inputs, uint64_t poison);

#endif
