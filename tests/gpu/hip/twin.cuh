/* Makes the CUDA twin of a candidate in HIP, by names alone and without the headers of grader/devices/cuda/hip: what
 * `tests/gpu/bench/run hip` compares it with.  All its masks are constant, so those that exchange between parts of a warp on
 * purpose ("twin": false in expect.json) have none. */
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) (kernel)<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define hipStream_t cudaStream_t
#define hipSuccess cudaSuccess
#define hipMalloc cudaMalloc
#define hipMemsetAsync cudaMemsetAsync
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipDeviceProp_t cudaDeviceProp
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipThreadIdx_x threadIdx.x
#define hipBlockIdx_x blockIdx.x
#define hipBlockDim_x blockDim.x
#define __hip_bfloat16 __nv_bfloat16
#define warpSize 32
#define __shfl(value, lane) __shfl_sync(~0u, value, lane)
#define __shfl_up(value, lanes) __shfl_up_sync(~0u, value, lanes)
#define __shfl_down(value, lanes) __shfl_down_sync(~0u, value, lanes)
#define __shfl_xor(value, mask) __shfl_xor_sync(~0u, value, mask)
#define __ballot(condition) __ballot_sync(~0u, condition)
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

inline __device__ float4 operator+(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
