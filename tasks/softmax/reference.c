#include <math.h>
#include <stdint.h>

void reference(const double *x, double *y, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        const double *from = x + r * cols;
        double *to = y + r * cols;
        double largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < cols; j++)
            if (from[j] > largest)
                largest = from[j];
        for (int64_t j = 0; j < cols; j++) {
            to[j] = exp(from[j] - largest);
            sum += to[j];
        }
        for (int64_t j = 0; j < cols; j++)
            to[j] /= sum;
    }
}
