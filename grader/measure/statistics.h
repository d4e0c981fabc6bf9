/* Statistics of samples.  All functions take samples sorted ascending. */
#ifndef KGRADE_STATISTICS_H
#define KGRADE_STATISTICS_H

#include <stddef.h>

void statistics_sort(double *samples, size_t n);

/* Linear interpolation between order statistics (Hyndman and Fan 1996, type 7).  q in [0, 1]; n > 0. */
double statistics_quantile(const double *sorted, size_t n, double q);

struct summary {
    size_t n;
    double median, mean, min, p10, p90, p99;
    double standard_error; /* of the mean */
};

void statistics_summarise(const double *sorted, size_t n, struct summary *ret);

/*
 * A distribution-free interval for the median: the order statistics whose ranks are n/2 -+ z * sqrt(n)/2, rounded
 * outwards (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2).  z 1.96 for 95 %.  With fewer than six samples the
 * whole range.
 */
void statistics_median_interval(const double *sorted, size_t n, double z, double *ret_low,
                                double *ret_high);

#endif
