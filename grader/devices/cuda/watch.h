/*
 * What the driver is seen doing for the candidate, through CUPTI's callbacks: modules that are loaded, and to which
 * handle each belongs; kernels that are launched; calls that break a capture.
 *
 * One subscriber per process, made before the context.  Callbacks cost a fraction of a microsecond per driver call, so
 * all of them are on only where nothing is timed or where loading is expected.
 */
#ifndef KGRADE_CUDA_WATCH_H
#define KGRADE_CUDA_WATCH_H

#include "../../hash.h"
#include "cubin.h"
#include "driver.h"

#define WATCH_MAX_MODULES 16384u
#define WATCH_MAX_BYTES (2ull << 30) /* of all images that are kept */

/* Before driver_open.  -1 with `device_failed`. */
int watch_open(kgrade_error *err);

/* Watch all driver calls, or only those that load and unload modules. */
void watch_all(bool all);

/* For a profile: calls of the driver and of the runtime are noted by the collector (profile/collector.h) while it is
 * active.  Calls that hooks.c serves itself never reach the driver; it notes them.  Questions for a kernel's name are left out:
 * CUPTI asks them. */
void watch_profile(bool on);

/* Modules loaded so far are our own. */
void watch_forget(void);

void watch_begin_call(void);

struct watch_seen {
    unsigned int launches, graph_launches; /* that the driver accepted */
    char broken_by[96];      /* the first driver call that a capture did not allow; "" none */
    char broken_kernel[256]; /* the kernel it was to launch, if it was a launch */
    CUresult broken_result;
    char failed_launch
        [256]; /* the kernel of the first launch that failed for another reason; "" none */
    CUresult failed_result;
};

void watch_end_call(struct watch_seen *ret);

struct watch_image {
    const void *data; /* owned by the watch, for as long as the process lives */
    size_t size;
    struct cubin cubin;
    char hash[HASH_HEX]; /* of those that watch_find gave */
};

enum watch_match { WATCH_FOUND, WATCH_UNKNOWN, WATCH_AMBIGUOUS };

/* The image that a kernel of a loaded module came from.  kernel: the node's CUkernel, or NULL. */
enum watch_match watch_find(CUmodule module, CUkernel kernel, const char *name,
                            struct watch_image *ret);

#endif
