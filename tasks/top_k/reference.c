#include <stdint.h>

void reference(const double *input, double *values, int64_t *indices, int64_t rows, int64_t cols,
               int64_t k)
{
    for (int64_t r = 0; r < rows; r++, input += cols, values += k, indices += k) {
        int64_t n = 0; /* found so far, the largest first */
        for (int64_t i = 0; i < cols; i++) {
            if (n == k && input[i] <= values[k - 1])
                continue;
            int64_t at = n < k ? n++ : k - 1;
            for (; at > 0 && values[at - 1] < input[i]; at--) {
                values[at] = values[at - 1];
                indices[at] = indices[at - 1];
            }
            values[at] = input[i];
            indices[at] = i;
        }
    }
}
