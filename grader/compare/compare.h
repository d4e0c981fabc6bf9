/* Two candidates for the same task against each other: their kernels, and their launch paths. */
#ifndef KGRADE_COMPARE_H
#define KGRADE_COMPARE_H

#include "../grade/engine.h"

/* What is less than this of a difference is none: two processes of one candidate differ by as much. */
#define COMPARE_DEVICE_MARGIN 0.01
#define COMPARE_DEVICE_MARGIN_CPU 0.05 /* where the device is this machine's own processor */
#define COMPARE_HOST_MARGIN 0.1
/* Launch paths whose ratio is not known to within this factor are not known to be alike: the machine was too busy. */
#define COMPARE_HOST_SPREAD 1.5

/* Pairs of fresh replayers where each has memory of its own: two processes of one kernel differ by up to a tenth there, which no
 * number of samples in one pair shows.  They share a measurement's time. */
#define COMPARE_PAIRS 5u

struct compare_ratio {
    double value, low, high; /* of A's time to B's: above 1, B is faster */
};

/* "kernel faster", "kernel slower", "launch path faster only", "launch path slower only", "no difference" or "unresolved", said of
 * B.  A difference counts when its whole interval is beyond the margin. */
const char *compare_verdict(const struct compare_ratio *device, double device_margin,
                            const struct compare_ratio *host, double host_margin);

/* Whether the ratio of two launch paths is not known to within COMPARE_HOST_SPREAD. */
bool compare_is_vague(const struct compare_ratio *host);

/* The geometric mean of n ratios that were measured apart from each other; intervals are of 95 %. */
struct compare_ratio compare_mean(const struct compare_ratio *ratios, size_t n);

/* The geometric mean of the ratios that n pairs of processes gave, and its interval of 95 % (Student's, of the logarithms); of
 * one pair, what it gave.  n is at most COMPARE_PAIRS. */
struct compare_ratio compare_processes(const struct compare_ratio *ratios, size_t n);

/* How much longer n times are than n others, when some of either may be far off, and the interval of 95 %; NaN without any. */
struct compare_ratio compare_groups(const double *a, const double *b, size_t n);

struct compare_request {
    const struct task *task;
    const struct device *device;
    const struct device_language *languages[2];
    const kgrade_request *sides[2];
};

/* Writes the report (schema kgrade.compare/1, compare.schema.json).  What goes wrong is in it; -1 only when the caller
 * cancelled (`cancelled`) or memory ran out. */
int compare_sources(kgrade *engine, const struct compare_request *request, kgrade_progress progress,
                    void *data, char **ret_json, kgrade_error *err);

#endif
