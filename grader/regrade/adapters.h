/* The adapters that there are. */
#ifndef KGRADE_REGRADE_ADAPTERS_H
#define KGRADE_REGRADE_ADAPTERS_H

#include "board.h"

extern const struct regrade_adapter regrade_folder;
extern const struct regrade_adapter regrade_gpumode;
extern const struct regrade_adapter regrade_kernelbench;
extern const struct regrade_adapter regrade_arena;
extern const struct regrade_adapter regrade_flashinfer;
extern const struct regrade_adapter regrade_leetgpu;

#endif
