/* Cooperative groups, as far as the baselines use them. */
#pragma once

#include "hip_runtime.h"

namespace cooperative_groups
{
struct thread_block {
    unsigned thread_rank() const
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    void sync() const
    {
        __syncthreads();
    }
};
static inline thread_block this_thread_block()
{
    return {};
}
template <unsigned N> struct thread_block_tile {
    unsigned thread_rank() const
    {
        return (unsigned)lanes_lane() % N;
    }
    unsigned size() const
    {
        return N;
    }
    template <class T> T shfl_xor(T v, int mask) const
    {
        return __shfl_xor(v, mask, (int)N);
    }
};
template <unsigned N> thread_block_tile<N> tiled_partition(const thread_block &)
{
    return {};
}
} // namespace cooperative_groups
