#include <math.h>
#include <stdint.h>

enum { KEYS = 64, LANES = 8 };

static double dot(const double *a, const double *b, int64_t n)
{
    double lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int64_t j = 0; j < LANES; j++)
            lanes[j] += a[i + j] * b[i + j];
    for (int64_t j = 0; j < LANES; j++)
        sum += lanes[j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One query with the keys up to its own, KEYS at a time: sums are relative to the largest score so far. */
static void attend(const double *q, const double *k, const double *v, double *o, int64_t n_keys,
                   int64_t dim)
{
    double largest = -INFINITY, total = 0;
    for (int64_t e = 0; e < dim; e++)
        o[e] = 0;
    for (int64_t first = 0; first < n_keys; first += KEYS) {
        int64_t n = n_keys - first < KEYS ? n_keys - first : KEYS;
        double weights[KEYS], before = largest;
        for (int64_t j = 0; j < n; j++) {
            weights[j] = dot(q, k + (first + j) * dim, dim) / sqrt((double)dim);
            largest = weights[j] > largest ? weights[j] : largest;
        }
        double correction = exp(before - largest);
        total *= correction;
        for (int64_t e = 0; e < dim; e++)
            o[e] *= correction;
        for (int64_t j = 0; j < n; j++) {
            double weight = exp(weights[j] - largest);
            total += weight;
            for (int64_t e = 0; e < dim; e++)
                o[e] += weight * v[(first + j) * dim + e];
        }
    }
    for (int64_t e = 0; e < dim; e++)
        o[e] /= total;
}

void reference(const double *q, const double *k, const double *v, double *o, int64_t batch,
               int64_t heads, int64_t kv_heads, int64_t seq, int64_t head_dim)
{
    const int64_t matrix = seq * head_dim, group = heads / kv_heads;
    for (int64_t head = 0; head < batch * heads; head++)
        for (int64_t i = 0; i < seq; i++) {
            const int64_t row = head * matrix + i * head_dim, keys = head / group * matrix;
            attend(q + row, k + keys, v + keys, o + row, i + 1, head_dim);
        }
}
