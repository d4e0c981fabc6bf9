#include "scale.h"

#include <math.h>

#define LARGEST 1e100 /* farther out, differences and products might overflow */
#define SMALLEST 1e-100
#define WIDEN 0.02 /* of a value that is all there is, to either side */

struct scale scale_over(double low, double high, bool logarithmic)
{
    if (!isfinite(low) || !isfinite(high))
        return (struct scale){0, 1, false};
    low = fmax(fmin(low, LARGEST), -LARGEST);
    high = fmax(fmin(high, LARGEST), -LARGEST);
    if (low > high) {
        double swap = low;
        low = high;
        high = swap;
    }
    double middle = (low + high) / 2, least = fmax(fabs(middle) * WIDEN, SMALLEST);
    if (high - low < least) {
        low = middle - least;
        high = middle + least;
    }
    return (struct scale){low, high, logarithmic && low >= SMALLEST};
}

double scale_at(const struct scale *s, double value)
{
    if (isnan(value) || value <= s->low)
        return 0;
    if (value >= s->high)
        return 1;
    return s->logarithmic ? log(value / s->low) / log(s->high / s->low)
                          : (value - s->low) / (s->high - s->low);
}

/* The multiples of step inside. */
static size_t multiples(const struct scale *s, double step, double ret[SCALE_MAX_TICKS])
{
    size_t n = 0;
    double first = ceil(s->low / step - 1e-9);
    for (; n < SCALE_MAX_TICKS; n++) {
        double value = (first + (double)n) * step;
        if (value > s->high * (1 + (s->high > 0 ? 1e-12 : -1e-12)))
            break;
        ret[n] = fabs(value) < step / 2 ? 0 : value;
    }
    return n;
}

static size_t linear_ticks(const struct scale *s, size_t wanted, double ret[SCALE_MAX_TICKS])
{
    static const double nice[] = {1, 2, 5, 10};
    double rough = (s->high - s->low) / (double)wanted;
    double power = pow(10, floor(log10(rough)));
    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++) {
        double step = nice[i] * power;
        if (floor(s->high / step) - ceil(s->low / step) + 1 <= (double)wanted)
            return multiples(s, step, ret);
    }
    return multiples(s, 20 * power, ret);
}

/* Powers of ten, every so many that there are few enough. */
static size_t decade_ticks(const struct scale *s, size_t wanted, double ret[SCALE_MAX_TICKS])
{
    int first = (int)ceil(log10(s->low) - 1e-9), last = (int)floor(log10(s->high) + 1e-9);
    int most = (int)wanted, step = last < first ? 1 : (last - first + most) / most;
    size_t n = 0;
    for (int e = first; e <= last && n < wanted; e += step)
        ret[n++] = pow(10, e);
    return n;
}

/* 1, 2 and 5 times powers of ten. */
static size_t half_decade_ticks(const struct scale *s, size_t wanted, double ret[SCALE_MAX_TICKS])
{
    static const double parts[] = {1, 2, 5};
    size_t n = 0;
    int last = (int)floor(log10(s->high) + 1e-9);
    for (int e = (int)floor(log10(s->low)); e <= last; e++)
        for (size_t i = 0; i < 3; i++) {
            double value = parts[i] * pow(10, e);
            if (value < s->low * (1 - 1e-9) || value > s->high * (1 + 1e-9))
                continue;
            if (n == wanted)
                return 0;
            ret[n++] = value;
        }
    return n;
}

size_t scale_ticks(const struct scale *s, size_t wanted, double ret[SCALE_MAX_TICKS])
{
    size_t n = 0;
    if (wanted > SCALE_MAX_TICKS)
        wanted = SCALE_MAX_TICKS;
    if (wanted < 1)
        wanted = 1;
    if (s->logarithmic) {
        n = half_decade_ticks(s, wanted, ret);
        if (n < 2)
            n = decade_ticks(s, wanted, ret);
    }
    if (n < 2)
        n = linear_ticks(s, wanted, ret);
    if (n == 0)
        ret[n++] = s->low;
    return n;
}
