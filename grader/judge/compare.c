#include "compare.h"

#include <math.h>
#include <string.h>

/* How far an element is outside its tolerance: at most 1 passes. */
static double excess(double got, double expected, const struct tolerance *t, double *ret_error)
{
    if (!isfinite(expected) || !isfinite(got)) {
        bool same = isnan(expected) ? isnan(got) : got == expected;
        *ret_error = same ? 0 : INFINITY;
        return *ret_error;
    }
    *ret_error = fabs(got - expected);
    double allowed = t ? t->absolute + t->relative * fabs(expected) : 0;
    if (*ret_error <= allowed)
        return allowed > 0 ? *ret_error / allowed : 0;
    return allowed > 0 ? *ret_error / allowed : INFINITY;
}

static double expected_at(enum dtype type, const void *expected, uint64_t i)
{
    return dtype_is_float(type) ? ((const double *)expected)[i]
                                : (double)((const int64_t *)expected)[i];
}

static void look_around(enum dtype type, const void *got, const void *expected,
                        struct comparison *c)
{
    c->around_first = compare_around_first(c->worst_index);
    uint64_t n = c->count - c->around_first;
    c->n_around = n < COMPARE_AROUND ? (size_t)n : COMPARE_AROUND;
    for (size_t i = 0; i < c->n_around; i++) {
        c->around_expected[i] = expected_at(type, expected, c->around_first + i);
        c->around_got[i] = dtype_load_double(type, got, c->around_first + i);
    }
}

void compare_output(enum dtype type, const void *got, const void *poison, const void *expected,
                    uint64_t count, const struct tolerance *tolerance, struct comparison *ret)
{
    size_t size = dtype_size(type);
    bool is_float = dtype_is_float(type);
    struct comparison c = {.count = count, .norm_ok = true};
    double worst = -1, difference2 = 0, expected2 = 0;
    for (uint64_t i = 0; i < count; i++) {
        double e = expected_at(type, expected, i);
        double g = dtype_load_double(type, got, i), error;
        double x = excess(g, e, tolerance, &error);
        if (!is_float) {
            /* 64-bit integers do not fit a double: compare what was meant, not its rounding. */
            int64_t exact;
            dtype_widen(type, (const char *)got + i * size, 1, &exact);
            if (!tolerance)
                x = exact == ((const int64_t *)expected)[i] ? 0 : INFINITY;
        }
        if (isfinite(e) && isfinite(g)) {
            difference2 += (g - e) * (g - e);
            expected2 += e * e;
        }
        if (x > 1) {
            c.bad++;
            if (isnan(g) && !isnan(e))
                c.nan++;
            if (poison &&
                !memcmp((const char *)got + i * size, (const char *)poison + i * size, size))
                c.unwritten++;
        }
        if (x > worst || (isinf(x) && isinf(worst) && error > c.worst_error)) {
            worst = x;
            c.worst_index = i;
            c.worst_error = error;
            c.worst_expected = e;
            c.worst_got = g;
        }
    }
    c.norm = expected2 > 0 ? sqrt(difference2 / expected2) : sqrt(difference2);
    if (tolerance)
        c.norm_ok = c.norm <= (expected2 > 0 ? tolerance->norm : tolerance->absolute);
    look_around(type, got, expected, &c);
    *ret = c;
}

bool comparison_passes(const struct comparison *c)
{
    return c->bad == 0 && c->norm_ok;
}
