#include <math.h>
#include <stdint.h>

void reference(const double *x, const double *weight, const double *bias, double *y, int64_t rows,
               int64_t cols, double eps)
{
    for (int64_t r = 0; r < rows; r++) {
        const double *from = x + r * cols;
        double *to = y + r * cols, sum = 0, squares = 0;
        for (int64_t j = 0; j < cols; j++)
            sum += from[j];
        double mean = sum / (double)cols;
        for (int64_t j = 0; j < cols; j++)
            squares += (from[j] - mean) * (from[j] - mean);
        double scale = 1 / sqrt(squares / (double)cols + eps);
        for (int64_t j = 0; j < cols; j++)
            to[j] = (from[j] - mean) * scale * weight[j] + bias[j];
    }
}
