#include <stdint.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 256 };

/* Rows r..r+n_rows-1 of c, one stripe of columns.  The stripe of c stays in the L1 cache while a
 * and b stream by; the innermost loop runs along rows of b and c, so it vectorises. */
static void stripe(const double *a, const double *b, double *c, int64_t n_rows, int64_t width,
                   int64_t n, int64_t k)
{
    double sums[ROWS][COLUMNS];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < k; p++) {
        const double *line = b + p * n;
        double f0 = a[p], f1 = n_rows > 1 ? a[k + p] : 0, f2 = n_rows > 2 ? a[2 * k + p] : 0,
               f3 = n_rows > 3 ? a[3 * k + p] : 0;
        for (int64_t j = 0; j < width; j++) {
            sums[0][j] += f0 * line[j];
            sums[1][j] += f1 * line[j];
            sums[2][j] += f2 * line[j];
            sums[3][j] += f3 * line[j];
        }
    }
    for (int64_t row = 0; row < n_rows; row++)
        memcpy(c + row * n, sums[row], (size_t)width * sizeof *c);
}

void reference(const double *a, const double *b, double *c, int64_t m, int64_t n, int64_t k)
{
    for (int64_t j = 0; j < n; j += COLUMNS) {
        int64_t width = n - j < COLUMNS ? n - j : COLUMNS;
        for (int64_t i = 0; i < m; i += ROWS)
            stripe(a + i * k, b + j, c + i * n + j, m - i < ROWS ? m - i : ROWS, width, n, k);
    }
}
