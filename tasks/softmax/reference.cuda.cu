#include <cmath>
#include <cstdint>

#define THREADS 256

struct maximum {
    __device__ double operator()(double a, double b) const
    {
        return a > b ? a : b;
    }
};

struct sum {
    __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

/* The same for all threads of the block. */
template <typename COMBINE> static __device__ double reduce(double value, COMBINE combine)
{
    __shared__ double values[THREADS];
    values[threadIdx.x] = value;
    for (int n = THREADS / 2; n; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n)
            values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + n]);
    }
    __syncthreads();
    value = values[0];
    __syncthreads();
    return value;
}

/* One row a block at a time. */
static __global__ void __launch_bounds__(THREADS)
    softmax_rows(const float *x, double *y, int64_t rows, int64_t cols)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const float *from = x + r * cols;
        double *to = y + r * cols;
        double largest = -INFINITY, total = 0;
        for (int64_t j = threadIdx.x; j < cols; j += THREADS)
            largest = fmax(largest, (double)from[j]);
        largest = reduce(largest, maximum());
        for (int64_t j = threadIdx.x; j < cols; j += THREADS)
            total += exp((double)from[j] - largest);
        total = reduce(total, sum());
        for (int64_t j = threadIdx.x; j < cols; j += THREADS)
            to[j] = exp((double)from[j] - largest) / total;
    }
}

extern "C" int reference_cuda(const float *x, double *y, int64_t rows, int64_t cols,
                              cudaStream_t stream)
{
    if (rows == 0)
        return cudaSuccess;
    unsigned int blocks = rows < 65536 ? (unsigned int)rows : 65536;
    softmax_rows<<<blocks, THREADS, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
}
