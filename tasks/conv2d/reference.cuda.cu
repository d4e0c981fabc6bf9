#include <cstdint>

#define THREADS 256
#define FILTERS 4 /* a thread: each input is used for all of them */

/* Pixels of an image to the x, groups of filters to the y, images to the z. */
static __global__ void __launch_bounds__(THREADS)
    convolve(const float *input, const float *weights, double *output, int64_t batch,
             int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t size)
{
    int64_t out_width = width - size + 1, plane = (height - size + 1) * out_width;
    int64_t stride = channels * size * size;
    int64_t pixel = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (pixel >= plane)
        return;
    int64_t at = pixel / out_width * width + pixel % out_width;
    for (int64_t b = blockIdx.z; b < batch; b += gridDim.z)
        for (int64_t f0 = blockIdx.y * FILTERS; f0 < filters; f0 += gridDim.y * FILTERS) {
            const float *w[FILTERS];
            double sum[FILTERS] = {};
            /* Filters that are not there are computed as the last one. */
            for (int i = 0; i < FILTERS; i++)
                w[i] = weights + (f0 + i < filters ? f0 + i : filters - 1) * stride;
            int64_t k = 0;
            for (int64_t c = 0; c < channels; c++)
                for (int64_t j = 0; j < size; j++) {
                    const float *row = input + ((b * channels + c) * height + j) * width + at;
                    for (int64_t i = 0; i < size; i++, k++) {
                        double x = row[i];
                        for (int f = 0; f < FILTERS; f++)
                            sum[f] += x * (double)w[f][k];
                    }
                }
            for (int f = 0; f < FILTERS && f0 + f < filters; f++)
                output[(b * filters + f0 + f) * plane + pixel] = sum[f];
        }
}

extern "C" int reference_cuda(const float *input, const float *weights, double *output,
                              int64_t batch, int64_t channels, int64_t filters, int64_t height,
                              int64_t width, int64_t size, cudaStream_t stream)
{
    int64_t plane = (height - size + 1) * (width - size + 1);
    if (batch * filters * plane == 0)
        return cudaSuccess;
    int64_t groups = (filters + FILTERS - 1) / FILTERS;
    dim3 grid((unsigned int)((plane + THREADS - 1) / THREADS),
              (unsigned int)(groups < 65535 ? groups : 65535),
              (unsigned int)(batch < 65535 ? batch : 65535));
    convolve<<<grid, THREADS, 0, stream>>>(input, weights, output, batch, channels, filters, height,
                                           width, size);
    return cudaGetLastError();
}
