#include <math.h>
#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../measure/statistics.h"
#include "compare.h"

#define Z95 1.96

/* 1: wholly above, -1: wholly below, 0: neither. */
static int side_of(const struct compare_ratio *r, double margin)
{
    return r->low > 1 + margin ? 1 : r->high < 1 / (1 + margin) ? -1 : 0;
}

bool compare_is_vague(const struct compare_ratio *host)
{
    /* Written so that NaN is vague, too. */
    return !(host->high <= COMPARE_HOST_SPREAD * host->low);
}

const char *compare_verdict(const struct compare_ratio *device, double device_margin,
                            const struct compare_ratio *host, double host_margin)
{
    int kernel = side_of(device, device_margin), path = side_of(host, host_margin);
    if (kernel)
        return kernel > 0 ? "kernel faster" : "kernel slower";
    if (path)
        return path > 0 ? "launch path faster only" : "launch path slower only";
    return compare_is_vague(host) ? "unresolved" : "no difference";
}

/* Logarithms add; their half-widths do in quadrature. */
struct compare_ratio compare_mean(const struct compare_ratio *ratios, size_t n)
{
    double sum = 0, below = 0, above = 0;
    for (size_t i = 0; i < n; i++) {
        sum += log(ratios[i].value);
        below += pow(log(ratios[i].value / ratios[i].low), 2);
        above += pow(log(ratios[i].high / ratios[i].value), 2);
    }
    double mean = n ? sum / (double)n : 0;
    return (struct compare_ratio){exp(mean), exp(mean - sqrt(below) / (double)(n ? n : 1)),
                                  exp(mean + sqrt(above) / (double)(n ? n : 1))};
}

struct compare_ratio compare_processes(const struct compare_ratio *ratios, size_t n)
{
    /* The quantile 0.975 of Student's t for n - 1 degrees of freedom. */
    static const double t[COMPARE_PAIRS + 1] = {0, 0, 12.706, 4.303, 3.182, 2.776};
    if (n == 1)
        return ratios[0];
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(ratios[i].value);
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(log(ratios[i].value) - mean, 2);
    double half = t[n] * sqrt(squares / (double)(n - 1) / (double)n);
    return (struct compare_ratio){exp(mean), exp(mean - half), exp(mean + half)};
}

/*
 * The Hodges-Lehmann estimate of the shift between two groups, on a scale of logarithms: the median of all n^2 ratios, with the interval
 * that belongs to the Mann-Whitney test (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.2 and 4.3, by the normal
 * approximation).
 */
struct compare_ratio compare_groups(const double *a, const double *b, size_t n)
{
    struct compare_ratio r = {NAN, NAN, NAN};
    cleanup_free double *ratios = calloc(n * n + 1, sizeof *ratios);
    for (size_t i = 0; ratios && i < n * n; i++)
        ratios[i] = b[i % n] > 0 ? a[i / n] / b[i % n] : 1;
    if (!ratios || !n)
        return r;
    double square = (double)(n * n);
    double rank = floor(square / 2 - Z95 * sqrt(square * (double)(2 * n + 1) / 12));
    size_t left_out = rank > 1 ? (size_t)rank - 1 : 0;
    statistics_sort(ratios, n * n);
    r.value = statistics_quantile(ratios, n * n, 0.5);
    r.low = ratios[left_out];
    r.high = ratios[n * n - 1 - left_out];
    return r;
}
