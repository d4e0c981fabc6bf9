#include <stdint.h>

void reference(const double *input, double *output, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += input[i];
        output[i] = sum;
    }
}
