/* The settings of kernel nodes that a recording carries, by name. */
#ifndef KGRADE_CUDA_ATTRIBUTES_H
#define KGRADE_CUDA_ATTRIBUTES_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct attribute_kind {
    const char *name;
    bool
        of_function; /* set on the function (CUfunction_attribute), else on the node (CUlaunchAttributeID) */
    int id;
    size_t n; /* values */
};

static const struct attribute_kind attribute_kinds[] = {
    {"cooperative", false, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1},
    {"cluster_dimension", false, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 3},
    {"preferred_cluster_dimension", false, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 3},
    {"cluster_scheduling", false, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1},
    {"function_max_dynamic_shared", true, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1},
    {"function_carveout", true, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1},
    {"function_nonportable_cluster", true, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1},
    {"function_cluster_width", true, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1},
    {"function_cluster_height", true, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1},
    {"function_cluster_depth", true, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1},
    {"function_cluster_scheduling", true, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
     1},
};

#define ATTRIBUTE_KINDS (sizeof attribute_kinds / sizeof attribute_kinds[0])

/* NULL: unknown. */
static inline const struct attribute_kind *attribute_find(const char *name)
{
    for (size_t i = 0; i < ATTRIBUTE_KINDS; i++)
        if (!strcmp(attribute_kinds[i].name, name))
            return &attribute_kinds[i];
    return NULL;
}

/* A launch attribute's value from and to integers. */
static inline void attribute_to_value(const struct attribute_kind *kind, const int64_t *values,
                                      CUlaunchAttributeValue *ret)
{
    memset(ret, 0, sizeof *ret);
    if (kind->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        ret->cooperative = (int)values[0];
    } else if (kind->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        ret->clusterDim.x = (unsigned int)values[0];
        ret->clusterDim.y = (unsigned int)values[1];
        ret->clusterDim.z = (unsigned int)values[2];
    } else if (kind->id == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
        ret->preferredClusterDim.x = (unsigned int)values[0];
        ret->preferredClusterDim.y = (unsigned int)values[1];
        ret->preferredClusterDim.z = (unsigned int)values[2];
    } else {
        ret->clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)values[0];
    }
}

/* false when the value is what a node has that nobody set. */
static inline bool attribute_from_value(const struct attribute_kind *kind,
                                        const CUlaunchAttributeValue *value, int64_t ret[4])
{
    if (kind->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        ret[0] = value->cooperative;
        return ret[0] != 0;
    }
    if (kind->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        ret[0] = value->clusterDim.x;
        ret[1] = value->clusterDim.y;
        ret[2] = value->clusterDim.z;
        return ret[0] && ret[1] && ret[2];
    }
    if (kind->id == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
        ret[0] = value->preferredClusterDim.x;
        ret[1] = value->preferredClusterDim.y;
        ret[2] = value->preferredClusterDim.z;
        return ret[0] && ret[1] && ret[2];
    }
    ret[0] = value->clusterSchedulingPolicyPreference;
    return ret[0] != CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
}

#endif
