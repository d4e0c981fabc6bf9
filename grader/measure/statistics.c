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
    double sum = 0, squares = 0, low, high;
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - s.mean) * (sorted[i] - s.mean);
    s.standard_error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0;
    s.median = statistics_quantile(sorted, n, 0.5);
    statistics_centre(sorted, n, 1.96, &s.centre, &low, &high);
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

/* How many pairs i <= j have a sum of at most `sum`. */
static size_t pairs_up_to(const double *sorted, size_t n, double sum)
{
    size_t count = 0, below = n;
    for (size_t i = 0; i < n; i++) {
        while (below > 0 && sorted[i] + sorted[below - 1] > sum)
            below--;
        if (below <= i)
            break;
        count += below - i;
    }
    return count;
}

/* The mean of the pair that has this rank, from 1.  It lies between the ends; halving that so often leaves less than a
 * double can tell. */
static double pair_mean(const double *sorted, size_t n, double rank)
{
    double low = 2 * sorted[0], high = 2 * sorted[n - 1];
    if ((double)pairs_up_to(sorted, n, low) >= rank)
        return sorted[0];
    for (int i = 0; i < 60; i++) {
        double middle = low + (high - low) / 2;
        if ((double)pairs_up_to(sorted, n, middle) >= rank)
            high = middle;
        else
            low = middle;
    }
    return high / 2;
}

void statistics_centre(const double *sorted, size_t n, double z, double *ret_centre,
                       double *ret_low, double *ret_high)
{
    double m = (double)n, pairs = m * (m + 1) / 2;
    double below = floor(pairs / 2 - z * sqrt(m * (m + 1) * (2 * m + 1) / 24));
    if (below < 1)
        below = 1;
    *ret_centre = (pair_mean(sorted, n, floor((pairs + 1) / 2)) +
                   pair_mean(sorted, n, ceil((pairs + 1) / 2))) /
                  2;
    *ret_low = pair_mean(sorted, n, below);
    *ret_high = pair_mean(sorted, n, pairs + 1 - below);
}

double statistics_spread(const double *sorted, size_t n)
{
    double low = statistics_quantile(sorted, n, 0.1), high = statistics_quantile(sorted, n, 0.9);
    return low > 0 ? (high - low) / (high + low) : 1;
}

bool statistics_two_groups(const double *sorted, size_t n, double *ret_lower, double *ret_upper)
{
    size_t split = 0;
    double widest = 1;
    if (n < 20 || sorted[0] <= 0)
        return false;
    for (size_t i = n / 4; i <= n - n / 4; i++)
        if (sorted[i] / sorted[i - 1] > widest) {
            widest = sorted[i] / sorted[i - 1];
            split = i;
        }
    if (!split)
        return false;
    *ret_lower = statistics_quantile(sorted, split, 0.5);
    *ret_upper = statistics_quantile(sorted + split, n - split, 0.5);
    return *ret_upper >= STATISTICS_APART * *ret_lower &&
           statistics_spread(sorted, split) < STATISTICS_TIGHT &&
           statistics_spread(sorted + split, n - split) < STATISTICS_TIGHT;
}
