/*
 * Named ranges for `kgrade profile`, where NVTX is not at hand.
 *
 * With #include "kgrade_ranges.h" a candidate can name what its host code does:
 *
 *     kgrade_range_push("cache.lookup");
 *     ...
 *     kgrade_range_pop();
 *
 * Ranges nest, and end on the thread on which they began.  In a grade, and outside kgrade, they do nothing.  Header-only NVTX v3
 * (nvtx3/nvToolsExt.h) goes to the same place and needs no change.
 */
#ifndef KGRADE_RANGES_H
#define KGRADE_RANGES_H

#ifdef __cplusplus
extern "C" {
#endif

/* kgrade's process has them; elsewhere they are not there. */
__attribute__((weak)) void kgrade_collector_push(const char *name);
__attribute__((weak)) void kgrade_collector_pop(void);

static inline void kgrade_range_push(const char *name)
{
    if (kgrade_collector_push)
        kgrade_collector_push(name);
}

static inline void kgrade_range_pop(void)
{
    if (kgrade_collector_pop)
        kgrade_collector_pop();
}

#ifdef __cplusplus
}
#endif

#endif
