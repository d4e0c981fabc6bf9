/* Chunks are sorted in shared memory and their largest kept, until one chunk is left. */
#include <hip/hip_runtime.h>

#include <stdint.h>

#define CHUNK 4096
#define FIRST_KEYS (1 << 24) /* (2^27 / 4096 + 2^27 / 4097) chunks of 256 keys at most */
#define LATER_KEYS (1 << 22)

typedef unsigned long long key_type; /* the value so that integers are in its order, then the place, the first as the largest */

static key_type *buffers[2];

__device__ key_type make_key(float value, unsigned place)
{
    unsigned bits = __float_as_uint(value + 0.0f); /* no negative zero */
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (key_type)bits << 32 | (unsigned)~place;
}

/* The largest k of a chunk, the largest first.  `keys` NULL: the chunk is of the row itself. */
__global__ void take_largest(const float *input, const key_type *keys, key_type *to, float *values, int *indices, long long cols,
                             long long n, int k, int size, int chunks)
{
    HIP_DYNAMIC_SHARED(key_type, sorted)
    const long long row = blockIdx.x / chunks, first = (long long)(blockIdx.x % chunks) * CHUNK;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        key_type key = 0;
        if (first + i < n)
            key = keys ? keys[row * n + first + i] : make_key(input[row * cols + first + i], (unsigned)(first + i));
        sorted[i] = key;
    }
    for (int length = 2; length <= size; length *= 2)
        for (int step = length / 2; step > 0; step /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < size; i += blockDim.x) {
                int other = i ^ step;
                key_type a = sorted[i], b = other > i ? sorted[other] : 0;
                bool falling = (i & length) == 0;
                if (other > i && (falling ? a < b : a > b)) {
                    sorted[i] = b;
                    sorted[other] = a;
                }
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        if (chunks > 1) {
            to[(long long)blockIdx.x * k + i] = i < size ? sorted[i] : 0;
            continue;
        }
        unsigned place = ~(unsigned)sorted[i];
        values[row * k + i] = input[row * cols + place];
        indices[row * k + i] = (int)place;
    }
}

extern "C" void top_k(const float *input, float *values, int *indices, int rows, int cols, int k, hipStream_t stream)
{
    if (!buffers[0] && (hipMalloc(&buffers[0], FIRST_KEYS * sizeof(key_type)) != hipSuccess ||
                        hipMalloc(&buffers[1], LATER_KEYS * sizeof(key_type)) != hipSuccess))
        return;
    const key_type *keys = NULL;
    long long n = cols;
    for (int level = 0;; level++) {
        int chunks = (int)((n + CHUNK - 1) / CHUNK), size = 2;
        while (size < CHUNK && size < n)
            size *= 2;
        int threads = size / 2 < 64 ? 64 : size / 2 > 512 ? 512 : size / 2;
        key_type *to = buffers[level % 2];
        hipLaunchKernelGGL(take_largest, dim3(rows * chunks), dim3(threads), size * sizeof(key_type), stream, input, keys, to,
                           values, indices, (long long)cols, n, k, size, chunks);
        if (chunks == 1)
            return;
        keys = to;
        n = (long long)chunks * k;
    }
}
