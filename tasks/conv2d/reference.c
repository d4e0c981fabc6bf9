#include <stdint.h>
#include <string.h>

enum { FILTERS = 4 };

/* Adds what a row of one channel gives to rows of n_filters outputs; the innermost loop runs along rows. */
static void add_row(const double *input, const double *weights, double *output, int64_t n_filters,
                    int64_t filter_stride, int64_t plane, int64_t out_width, int64_t size)
{
    if (n_filters < FILTERS) {
        for (int64_t f = 0; f < n_filters; f++)
            for (int64_t i = 0; i < size; i++)
                for (int64_t x = 0; x < out_width; x++)
                    output[f * plane + x] += weights[f * filter_stride + i] * input[i + x];
        return;
    }
    const double *w1 = weights + filter_stride, *w2 = w1 + filter_stride, *w3 = w2 + filter_stride;
    double *o1 = output + plane, *o2 = o1 + plane, *o3 = o2 + plane;
    for (int64_t i = 0; i < size; i++) {
        double f0 = weights[i], f1 = w1[i], f2 = w2[i], f3 = w3[i];
        for (int64_t x = 0; x < out_width; x++) {
            output[x] += f0 * input[i + x];
            o1[x] += f1 * input[i + x];
            o2[x] += f2 * input[i + x];
            o3[x] += f3 * input[i + x];
        }
    }
}

void reference(const double *input, const double *weights, double *output, int64_t batch,
               int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t size)
{
    int64_t out_height = height - size + 1, out_width = width - size + 1;
    int64_t plane = out_height * out_width, filter_stride = channels * size * size;
    memset(output, 0, (size_t)(batch * filters * plane) * sizeof *output);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t f = 0; f < filters; f += FILTERS)
            for (int64_t y = 0; y < out_height; y++)
                for (int64_t c = 0; c < channels; c++)
                    for (int64_t j = 0; j < size; j++)
                        add_row(input + ((b * channels + c) * height + y + j) * width,
                                weights + f * filter_stride + (c * size + j) * size,
                                output + (b * filters + f) * plane + y * out_width,
                                filters - f < FILTERS ? filters - f : FILTERS, filter_stride, plane,
                                out_width, size);
}
