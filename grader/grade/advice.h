/* What host against device time means for who calls the kernel, in a sentence. */
#ifndef KGRADE_ADVICE_H
#define KGRADE_ADVICE_H

#include "result.h"

/*
 * From the benchmark cases that have both times: whether a call costs the host more than the device (then the kernel is
 * launch-bound where calls are made one by one), and for which dims.  `graph_hides`: whether replay of a graph takes the
 * host's part away.  NULL: there is nothing to say, or no memory.  Caller frees.
 */
char *advice_write(const struct case_result *results, size_t n, const struct task *task,
                   bool graph_hides);

#endif
