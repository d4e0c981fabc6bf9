#include <stdint.h>
#include <string.h>

enum { BLOCK = 128, ROWS = 4 };

/* A square of b, scaled and transposed, so that the innermost loop of the product runs along rows of c. */
static void transpose(const double *b, double scale, int64_t k, double to[BLOCK][BLOCK])
{
    for (int64_t j = 0; j < BLOCK; j++)
        for (int64_t p = 0; p < BLOCK; p++)
            to[p][j] = b[j * k + p] * scale;
}

/* Adds to rows r..r+n_rows-1 of c what a block of a and the square give. */
static void add_rows(const double *a, const double *a_scale, double square[BLOCK][BLOCK], double *c,
                     int64_t n_rows, int64_t n, int64_t k)
{
    double sums[ROWS][BLOCK];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < BLOCK; p++) {
        const double *line = square[p];
        double f0 = a[p], f1 = n_rows > 1 ? a[k + p] : 0, f2 = n_rows > 2 ? a[2 * k + p] : 0,
               f3 = n_rows > 3 ? a[3 * k + p] : 0;
        for (int64_t j = 0; j < BLOCK; j++) {
            sums[0][j] += f0 * line[j];
            sums[1][j] += f1 * line[j];
            sums[2][j] += f2 * line[j];
            sums[3][j] += f3 * line[j];
        }
    }
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t j = 0; j < BLOCK; j++)
            c[row * n + j] += sums[row][j] * a_scale[row * (k / BLOCK)];
}

void reference(const double *a, const double *b, const double *a_scale, const double *b_scale,
               double *c, int64_t m, int64_t n, int64_t k)
{
    double square[BLOCK][BLOCK];
    int64_t blocks = k / BLOCK;
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t j = 0; j < n / BLOCK; j++)
        for (int64_t p = 0; p < blocks; p++) {
            transpose(b + j * BLOCK * k + p * BLOCK, b_scale[j * blocks + p], k, square);
            for (int64_t i = 0; i < m; i += ROWS)
                add_rows(a + i * k + p * BLOCK, a_scale + i * blocks + p, square,
                         c + i * n + j * BLOCK, m - i < ROWS ? m - i : ROWS, n, k);
        }
}
