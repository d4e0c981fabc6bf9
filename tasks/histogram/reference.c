#include <stdint.h>
#include <string.h>

void reference(const int64_t *input, int64_t *bins, int64_t n, int64_t num_bins)
{
    memset(bins, 0, (size_t)num_bins * sizeof *bins);
    for (int64_t i = 0; i < n; i++)
        if (input[i] >= 0 && input[i] < num_bins)
            bins[input[i]]++;
}
