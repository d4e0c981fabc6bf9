#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT = 2048, BITS = 11, PASSES = 3 };

static uint32_t digit(int64_t key, int pass)
{
    /* The sign bit turned: unsigned order is then the order of the keys. */
    return ((uint32_t)key ^ UINT32_C(0x80000000)) >> (pass * BITS) & (DIGIT - 1);
}

/* Radix sort from the lowest digit; every pass keeps the order of equal digits. */
void reference(const int64_t *input, int64_t *output, int64_t n)
{
    int64_t *other = malloc(((size_t)n + 1) * sizeof *other);
    int64_t(*places)[DIGIT] = calloc(PASSES, sizeof *places);
    if (!other || !places)
        abort();
    for (int64_t i = 0; i < n; i++)
        for (int pass = 0; pass < PASSES; pass++)
            places[pass][digit(input[i], pass)]++;
    for (int pass = 0; pass < PASSES; pass++)
        for (int64_t d = 0, before = 0; d < DIGIT; d++) {
            int64_t count = places[pass][d];
            places[pass][d] = before;
            before += count;
        }
    const int64_t *from = input;
    for (int pass = 0; pass < PASSES; pass++) {
        int64_t *to = pass % 2 ? other : output;
        for (int64_t i = 0; i < n; i++)
            to[places[pass][digit(from[i], pass)]++] = from[i];
        from = to;
    }
    free(places);
    free(other);
}
