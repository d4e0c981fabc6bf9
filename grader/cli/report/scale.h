/* From values to places on an axis. */
#ifndef KGRADE_CLI_REPORT_SCALE_H
#define KGRADE_CLI_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#define SCALE_MAX_TICKS 6

struct scale {
    double low, high; /* finite, low < high; above 0 when logarithmic */
    bool logarithmic;
};

/* An axis that shows low to high.  Whatever they are, the scale is fit for use: what is no number becomes an axis from 0
 * to 1, a range of nothing is widened, and one that is not above 0 is linear. */
struct scale scale_over(double low, double high, bool logarithmic);

/* 0 at the low end to 1 at the high end; what lies outside is at the nearer end, what is no number at the low one. */
double scale_at(const struct scale *scale, double value);

/* Round values inside the scale, ascending, for at most `wanted` of SCALE_MAX_TICKS marks; at least one. */
size_t scale_ticks(const struct scale *scale, size_t wanted, double ret[SCALE_MAX_TICKS]);

#endif
