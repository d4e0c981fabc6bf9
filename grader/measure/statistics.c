#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void statistics_sort(double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, compare);
}

double statistics_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

void statistics_summarise(const double *sorted, size_t n, struct summary *ret)
{
    struct summary s = {.n = n};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - s.mean) * (sorted[i] - s.mean);
    s.standard_error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0;
    s.median = statistics_quantile(sorted, n, 0.5);
    s.min = sorted[0];
    s.p10 = statistics_quantile(sorted, n, 0.1);
    s.p90 = statistics_quantile(sorted, n, 0.9);
    s.p99 = statistics_quantile(sorted, n, 0.99);
    *ret = s;
}

void statistics_median_interval(const double *sorted, size_t n, double z, double *ret_low,
                                double *ret_high)
{
    double half = (double)n / 2, spread = z * sqrt((double)n) / 2;
    double low = floor(half - spread), high = ceil(half + spread);
    *ret_low = sorted[low < 1 ? 0 : (size_t)low - 1];
    *ret_high = sorted[high > (double)n ? n - 1 : (size_t)high - 1];
}
