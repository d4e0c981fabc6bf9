/* Ranges that do not nest; WAY in way.h says in which way. */
#include <CL/cl.h>
#include <pthread.h>

#include "kgrade_ranges.h"
#include "nvtx_client.h"
#include "way.h"

#if WAY == 3
static nvtxRangeId_t number;

static void *end_elsewhere(void *data)
{
    nvtxRangeEnd(number);
    return data;
}
#endif

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)n, (void)queue;
#if WAY == 0
    kgrade_range_push("left.open");
#elif WAY == 1
    nvtxRangeId_t id = nvtxRangeStartA("crossed.outer");
    kgrade_range_push("crossed.inner");
    nvtxRangeEnd(id);
    kgrade_range_pop();
#elif WAY == 2
    kgrade_range_pop();
#elif WAY == 3
    pthread_t thread;
    number = nvtxRangeStartA("foreign");
    pthread_create(&thread, NULL, end_elsewhere, NULL);
    pthread_join(thread, NULL);
#elif WAY == 4
    for (int i = 0; i < 1 << 20; i++) {
        kgrade_range_push("many");
        kgrade_range_pop();
    }
#endif
}
