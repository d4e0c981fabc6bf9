#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) sum(const float *a, const float *b, float *c, int n)
{
    __shared__ float from_a[256];
    cg::cluster_group cluster = cg::this_cluster();
    /* Each block loads a for the other one. */
    int other = (blockIdx.x ^ 1) * 256 + threadIdx.x, i = blockIdx.x * 256 + threadIdx.x;
    from_a[threadIdx.x] = other < n ? a[other] : 0;
    cluster.sync();
    const float *theirs = cluster.map_shared_rank(from_a, cluster.block_rank() ^ 1);
    if (i < n)
        c[i] = theirs[threadIdx.x] + b[i];
    cluster.sync();
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    int blocks = (n + 511) / 512 * 2;
    sum<<<blocks, 256, 0, stream>>>(a, b, c, n);
}
