/* Statistics of samples.  All functions take samples sorted ascending. */
#ifndef KGRADE_STATISTICS_H
#define KGRADE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

void statistics_sort(double *samples, size_t n);

/* Linear interpolation between order statistics (Hyndman and Fan 1996, type 7).  q in [0, 1]; n > 0. */
double statistics_quantile(const double *sorted, size_t n, double q);

struct summary {
    size_t n;
    double median, centre, mean, min, p10, p90, p99; /* centre: of statistics_centre */
    double standard_error;                           /* of the mean */
};

void statistics_summarise(const double *sorted, size_t n, struct summary *ret);

/*
 * A distribution-free interval for the median: the order statistics whose ranks are n/2 -+ z * sqrt(n)/2, rounded
 * outwards (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2).  z 1.96 for 95 %.  With fewer than six samples the
 * whole range.
 */
void statistics_median_interval(const double *sorted, size_t n, double z, double *ret_low,
                                double *ret_high);

/*
 * Where samples that scatter about a centre have it, and a distribution-free interval for it: the median of the means of
 * all pairs, a sample with itself included, and the means whose ranks bound the signed-rank statistic (Hodges and Lehmann 1963;
 * Hollander and Wolfe, Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3).  As good as the mean for samples
 * without outliers, and hardly moved by a quarter that are; unlike the median steady when samples are now one thing, now
 * another.  With few samples the whole range.
 */
void statistics_centre(const double *sorted, size_t n, double z, double *ret_centre,
                       double *ret_low, double *ret_high);

/* Half of the spread of the middle 80 %, relative to the middle: 0.05 means that most samples are within 5 %. */
double statistics_spread(const double *sorted, size_t n);

/*
 * Whether the samples are two tight groups with a gap between them: each has at least a quarter of the samples and a
 * spread below STATISTICS_TIGHT, and the median of the upper is STATISTICS_APART times that of the lower or more.  The
 * groups are split at the widest relative gap in the middle half.  Needs 20 samples.
 */
#define STATISTICS_TIGHT 0.1
#define STATISTICS_APART 1.5
bool statistics_two_groups(const double *sorted, size_t n, double *ret_lower, double *ret_upper);

#endif
