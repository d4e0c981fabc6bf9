/* Memory of the judge's context in which a foreign task is judged: judge/worker.h's struct judge_memory for CUDA. */
#ifndef KGRADE_CUDA_JUDGE_MEMORY_H
#define KGRADE_CUDA_JUDGE_MEMORY_H

#include "../../judge/worker.h"
#include "arena.h"
#include "judge_compare.h"
#include "launch.h"

struct device_memory {
    const struct arena *arena; /* borrowed; NULL: not open */
    CUstream stream;           /* borrowed */
    CUmemoryPool pool;         /* the device's: what was given back stays there */
    struct kernels kernels;    /* draw poison */
    struct comparer comparer;
};

/* arena: mapped with ARENA_FILL.  -1 with `device_failed` or `out_of_memory`. */
int device_memory_open(struct device_memory *ret, const struct driver_context *context,
                       CUstream stream, const struct arena *arena, kgrade_error *err);
void device_memory_close(struct device_memory *memory);

/* -1 with `arena_failed` for what is not in the arena's case. */
int device_memory_check(const struct arena *arena, uint64_t offset, uint64_t bytes,
                        kgrade_error *err);

/* These are what judge/worker.h says. */
int device_memory_arena(const struct device_memory *memory, uint64_t bytes, uint64_t *ret,
                        kgrade_error *err);
int device_memory_take(const struct device_memory *memory, uint64_t bytes, uint64_t *ret,
                       kgrade_error *err);
void device_memory_give_back(const struct device_memory *memory, uint64_t at);
int device_memory_trim(const struct device_memory *memory, kgrade_error *err);
int device_memory_copy(const struct device_memory *memory, uint64_t offset, uint64_t bytes,
                       uint64_t to, kgrade_error *err);
int device_memory_poison(const struct device_memory *memory, const struct task *task,
                         const struct judge_case *c, uint64_t to, kgrade_error *err);
int device_memory_compare(const struct device_memory *memory, enum dtype type, uint64_t got,
                          uint64_t poison, uint64_t expected, uint64_t count,
                          const struct tolerance *tolerance, struct comparison *ret,
                          kgrade_error *err);
int device_memory_store(uint64_t at, const void *from, uint64_t bytes, kgrade_error *err);
int device_memory_fetch(uint64_t at, uint64_t bytes, void *to, kgrade_error *err);

#endif
