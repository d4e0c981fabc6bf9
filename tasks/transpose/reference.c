#include <stdint.h>

#define TILE 16

void reference(const double *x, double *y, int64_t rows, int64_t cols)
{
    /* In tiles, or every element of y would cost a line of the cache. */
    for (int64_t r0 = 0; r0 < rows; r0 += TILE)
        for (int64_t c0 = 0; c0 < cols; c0 += TILE)
            for (int64_t r = r0; r < r0 + TILE && r < rows; r++)
                for (int64_t c = c0; c < c0 + TILE && c < cols; c++)
                    y[c * rows + r] = x[r * cols + c];
}
