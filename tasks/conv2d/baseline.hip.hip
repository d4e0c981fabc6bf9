/* A thread for each pixel and four filters, so that an input is loaded once for four sums. */
#include <hip/hip_runtime.h>

#define THREADS 256
#define FILTERS 4

__global__ void convolve(const float *__restrict__ input, const float *__restrict__ weights, float *__restrict__ output, int channels,
                         int filters, int height, int width, int size)
{
    const int out_height = height - size + 1, out_width = width - size + 1, plane = out_height * out_width;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x, groups = (filters + FILTERS - 1) / FILTERS;
    const int batch = blockIdx.y / groups, filter0 = blockIdx.y % groups * FILTERS;
    if (pixel >= plane)
        return;
    const int y = pixel / out_width, x = pixel % out_width;
    const size_t filter_size = (size_t)channels * size * size;
    float sums[FILTERS] = {};
    for (int c = 0; c < channels; c++)
        for (int j = 0; j < size; j++)
            for (int i = 0; i < size; i++) {
                float v = input[((size_t)batch * channels + c) * height * width + (size_t)(y + j) * width + x + i];
                for (int f = 0; f < FILTERS; f++)
                    if (filter0 + f < filters)
                        sums[f] += v * weights[(filter0 + f) * filter_size + ((size_t)c * size + j) * size + i];
            }
    for (int f = 0; f < FILTERS; f++)
        if (filter0 + f < filters)
            output[((size_t)batch * filters + filter0 + f) * plane + pixel] = sums[f];
}

extern "C" void conv2d(const float *input, const float *weights, float *output, int batch, int channels, int filters, int height,
                       int width, int size, hipStream_t stream)
{
    int plane = (height - size + 1) * (width - size + 1), groups = (filters + FILTERS - 1) / FILTERS;
    hipLaunchKernelGGL(convolve, dim3((plane + THREADS - 1) / THREADS, batch * groups), dim3(THREADS), 0, stream, input, weights,
                       output, channels, filters, height, width, size);
}
