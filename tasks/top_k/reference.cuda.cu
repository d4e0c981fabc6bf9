/*
 * An element and its column make one key, so that no two are equal.  A block finds the k largest keys of a slice of a row one
 * after the other, and another block those of the slices' keys.
 */
#include <cstdint>

#define THREADS 256
#define SLICE 65536
#define MAX_SLICES 256

typedef unsigned long long key_type;

/* By element, then the lower column first; 0 is below every key. */
static __device__ key_type make_key(float value, int64_t column)
{
    uint32_t bits = __float_as_uint(value + 0.0f);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (key_type)bits << 32 | (uint32_t)~column;
}

static __device__ key_type largest(key_type own)
{
    __shared__ key_type keys[THREADS];
    keys[threadIdx.x] = own;
    for (int n = THREADS / 2; n; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n && keys[threadIdx.x + n] > keys[threadIdx.x])
            keys[threadIdx.x] = keys[threadIdx.x + n];
    }
    __syncthreads();
    own = keys[0];
    __syncthreads();
    return own;
}

/* Slices of a row to the x, rows to the y.  If a slice has less than k keys, zeros follow them. */
static __global__ void __launch_bounds__(THREADS)
    slices(const float *input, key_type *keys, int64_t rows, int64_t cols, int64_t k, int64_t slice)
{
    for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
        int64_t first = blockIdx.x * slice, end = first + slice < cols ? first + slice : cols;
        key_type last = ~(key_type)0;
        for (int64_t j = 0; j < k; j++) {
            key_type most = 0;
            for (int64_t i = first + threadIdx.x; i < end; i += THREADS) {
                key_type key = make_key(input[r * cols + i], i);
                if (key < last && key > most)
                    most = key;
            }
            last = largest(most);
            if (threadIdx.x == 0)
                keys[(r * gridDim.x + blockIdx.x) * k + j] = last;
        }
    }
}

static __global__ void __launch_bounds__(THREADS)
    rows_of_slices(const key_type *keys, double *values, int64_t *indices, int64_t rows, int64_t k,
                   int64_t n)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        key_type last = ~(key_type)0;
        for (int64_t j = 0; j < k; j++) {
            key_type most = 0;
            for (int64_t i = threadIdx.x; i < n; i += THREADS)
                if (keys[r * n + i] < last && keys[r * n + i] > most)
                    most = keys[r * n + i];
            last = largest(most);
            if (threadIdx.x == 0) {
                uint32_t bits = (uint32_t)(last >> 32);
                bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
                values[r * k + j] = __uint_as_float(bits);
                indices[r * k + j] = (int64_t)(uint32_t)~last;
            }
        }
    }
}

extern "C" int reference_cuda(const float *input, double *values, int64_t *indices, int64_t rows,
                              int64_t cols, int64_t k, cudaStream_t stream)
{
    if (rows == 0 || k == 0)
        return cudaSuccess;
    int64_t n_slices = (cols + SLICE - 1) / SLICE;
    if (n_slices > MAX_SLICES)
        n_slices = MAX_SLICES;
    int64_t slice = (cols + n_slices - 1) / n_slices;
    key_type *keys;
    cudaError_t error =
        cudaMallocAsync(&keys, (size_t)(rows * n_slices * k) * sizeof *keys, stream);
    if (error)
        return error;
    unsigned int blocks = rows < 65535 ? (unsigned int)rows : 65535;
    slices<<<dim3((unsigned int)n_slices, blocks), THREADS, 0, stream>>>(input, keys, rows, cols, k,
                                                                         slice);
    rows_of_slices<<<blocks, THREADS, 0, stream>>>(keys, values, indices, rows, k, n_slices * k);
    error = cudaGetLastError();
    cudaFreeAsync(keys, stream);
    return error;
}
