#include <stdint.h>

void reference(const double *x, double *sum, int64_t n)
{
    /* Sums of blocks first: the error then stays far below what f32 can show. */
    enum { BLOCK = 4096 };
    double total = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t end = first + BLOCK < n ? first + BLOCK : n;
        double part = 0;
        for (int64_t i = first; i < end; i++)
            part += x[i];
        total += part;
    }
    *sum = total;
}
