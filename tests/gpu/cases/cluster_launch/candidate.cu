#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * 256 + threadIdx.x;
    cluster.sync();
    /* Right only in clusters of 16. */
    if (i < n)
        c[i] = cluster.num_blocks() == 16 ? a[i] + b[i] : 0;
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    cudaFuncSetAttribute(sum, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 16;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 4095) / 4096 * 16);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, sum, a, b, c, n);
}
