#include "roofline.h"

#include <math.h>
#include <string.h>

static double value(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

bool roofline_is_cold(const json_t *info)
{
    const char *cache = json_string_value(json_object_get(info, "cache"));
    return cache && !strcmp(cache, "cold");
}

struct roofline roofline_of(const struct task *task, const int64_t *dims, const json_t *info,
                            const json_t *ceilings, double time_ns)
{
    struct roofline r = {.fraction = -1, .bound = "memory"};
    struct expr_scope scope = task_scope(task, dims);
    int64_t bytes = 0, operations = 0;
    double memory = value(ceilings, "memory_bytes_per_s") / 1e9; /* per ns */
    double cache = value(ceilings, "cache_bytes_per_s") / 1e9;
    double arithmetic = value(ceilings, "operations_per_s") / 1e9;
    if (expr_eval(task->roofline_bytes, &scope, &bytes, NULL) ||
        expr_eval(task->roofline_operations, &scope, &operations, NULL) || memory <= 0 ||
        cache <= 0 || arithmetic <= 0 || time_ns <= 0)
        return r;
    double memory_ns = (double)bytes / memory, compute_ns = (double)operations / arithmetic;
    r.bound = compute_ns > memory_ns ? "compute" : "memory";
    r.fraction = fmax(memory_ns, compute_ns) / time_ns;
    r.bytes = bytes;
    r.operations = operations;
    r.memory_bytes_per_s = memory * 1e9;
    r.cache_bytes_per_s = cache * 1e9;
    r.operations_per_s = arithmetic * 1e9;
    double kept = fmin((double)bytes, value(info, "l2_bytes"));
    double traffic_ns =
        roofline_is_cold(info) ? ((double)bytes - kept) / memory : (double)bytes / cache;
    r.least_ns = fmax(traffic_ns, compute_ns) / ROOFLINE_SLACK;
    return r;
}
