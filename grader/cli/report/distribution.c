#define _GNU_SOURCE
#include "distribution.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../text.h"
#include "../view.h"
#include "html.h"
#include "plot.h"

#define MAX_SAMPLES 4096u /* that are drawn; a result holds fewer */
#define BINS 60u
#define HEIGHT 92
#define HISTOGRAM_TOP 4.0
#define HISTOGRAM_BOTTOM 72.0
#define RUG_BOTTOM 81.0
#define BAND_TOP 85.0
#define BAND_HEIGHT 6.0
/* The axis ends where a sample is so many times as far from the median as p10 or p90: one sample that was disturbed must
 * not squeeze all others into a line. */
#define REACH 4.0
#define LOGARITHMIC_FROM 6.0 /* times that are so many times one another need a logarithmic axis */

struct side {
    const json_t *json;
    bool candidate;
    double median, p10, p90;
    double *samples; /* ascending; owned */
    size_t n;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_side(const json_t *series, bool candidate, struct side *ret)
{
    *ret = (struct side){.json = series,
                         .candidate = candidate,
                         .median = view_number(series, "median_ns"),
                         .p10 = view_number(series, "p10_ns"),
                         .p90 = view_number(series, "p90_ns")};
    const json_t *samples = view_at(series, "samples_ns");
    size_t n = json_array_size(samples);
    n = n < MAX_SAMPLES ? n : MAX_SAMPLES;
    ret->samples = calloc(n + 1, sizeof *ret->samples);
    for (size_t i = 0; ret->samples && i < n; i++) {
        double value = json_number_value(json_array_get(samples, i));
        if (isfinite(value))
            ret->samples[ret->n++] = value;
    }
    if (ret->n)
        qsort(ret->samples, ret->n, sizeof *ret->samples, compare);
    if (!isfinite(ret->p10))
        ret->p10 = ret->median;
    if (!isfinite(ret->p90))
        ret->p90 = ret->median;
}

/* Widens [*low, *high] to what of the side is to be seen. */
static void include(const struct side *s, double *low, double *high)
{
    if (!isfinite(s->median))
        return;
    double least = fabs(s->median) * 0.01;
    double from = s->median - fmax(REACH * (s->median - s->p10), least);
    double to = s->median + fmax(REACH * (s->p90 - s->median), least);
    if (s->n) {
        from = fmax(from, fmin(s->samples[0], s->p10));
        to = fmin(to, fmax(s->samples[s->n - 1], s->p90));
    } else {
        from = s->p10;
        to = s->p90;
    }
    *low = fmin(*low, from);
    *high = fmax(*high, to);
}

static struct scale scale_for(const struct side sides[2])
{
    double low = INFINITY, high = -INFINITY;
    include(&sides[0], &low, &high);
    include(&sides[1], &low, &high);
    bool logarithmic = low > 0 && high > LOGARITHMIC_FROM * low;
    double room = logarithmic ? 0 : (high - low) * 0.02;
    return scale_over(low - room, high + room, logarithmic);
}

static bool is_seen(const struct scale *scale, double value)
{
    return value >= scale->low && value <= scale->high;
}

/* As the steps of a path; empty bins are left out. */
static void draw_histogram(FILE *out, const struct side *s, const struct scale *scale)
{
    unsigned bins[BINS] = {0}, most = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!is_seen(scale, s->samples[i]))
            continue;
        size_t bin = (size_t)(scale_at(scale, s->samples[i]) * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    if (!most)
        return;
    double left = PLOT_MARGIN / 100 * PLOT_WIDTH;
    double width = (PLOT_WIDTH - 2 * left) / BINS;
    fprintf(out, "<path class=\"%s soft\" d=\"", s->candidate ? "a" : "b");
    for (unsigned i = 0; i < BINS; i++) {
        if (!bins[i])
            continue;
        double height = (HISTOGRAM_BOTTOM - HISTOGRAM_TOP) * bins[i] / most;
        fprintf(out, "M%.1f %.0fv%.1fh%.1fv%.1fz", left + i * width + width * 0.08,
                HISTOGRAM_BOTTOM, -height, width * 0.84, height);
    }
    fputs("\"/>", out);
}

/* A short line for each sample. */
static void draw_rug(FILE *out, const struct side *s, const struct scale *scale)
{
    if (!s->n)
        return;
    fprintf(out, "<path class=\"%s rug\" d=\"", s->candidate ? "a" : "b");
    for (size_t i = 0; i < s->n; i++)
        if (is_seen(scale, s->samples[i]))
            fprintf(out, "M%.1f %.0fV%.0f", plot_x(scale, s->samples[i]) * PLOT_WIDTH / 100,
                    HISTOGRAM_BOTTOM + 1, RUG_BOTTOM);
    fputs("\"/>", out);
}

static void write_label(FILE *out, const struct side *s)
{
    fputs("<p class=\"series\">", out);
    plot_key(out, s->candidate);
    fputs(" <b>", out);
    html_text(out, text_time_error(s->median, view_number(s->json, "stderr_ns")).text);
    fputs("</b> <span class=\"dim\">p10–p90 ", out);
    html_text(out, text_time_range(s->p10, s->p90).text);
    double n = view_number(s->json, "samples"), voided = view_number(s->json, "void_samples");
    if (isfinite(n))
        fprintf(out, " · %.0f sample%s", n, n > 1 || n < 1 ? "s" : "");
    if (voided > 0)
        fprintf(out, " (+%.0f void)", voided);
    fputs("</span></p>\n", out);
}

static void draw_side(FILE *out, const struct side *s, const struct scale *scale)
{
    if (!isfinite(s->median))
        return;
    write_label(out, s);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label, "Samples of the %s: median %s, p10–p90 %s",
             s->candidate ? "candidate" : "baseline", text_time(s->median).text,
             text_time_range(s->p10, s->p90).text);
    plot_open(out, HEIGHT, label);
    plot_grid(out, scale, HEIGHT);
    plot_open_frame(out, HEIGHT);
    draw_histogram(out, s, scale);
    draw_rug(out, s, scale);
    plot_close_frame(out);
    const char *of = s->candidate ? "a" : "b";
    double from = plot_x(scale, s->p10), to = plot_x(scale, s->p90), at = plot_x(scale, s->median);
    plot_box(out, of, from, BAND_TOP, to - from, BAND_HEIGHT);
    plot_line(out, s->candidate ? "median a" : "median b", at, 0, at, HEIGHT);
    plot_close(out);
}

/* A result holds only so many samples. */
static void write_caption(FILE *out, const struct side sides[2], const struct scale *scale)
{
    double all = view_number(sides[0].json, "samples");
    fputs("<figcaption>Device time: ", out);
    if (sides[0].n && all > (double)sides[0].n)
        fprintf(out, "%zu of %.0f samples, ", sides[0].n, all);
    else if (sides[0].n)
        fputs("every sample, ", out);
    fprintf(out, "p10 to p90 and the median%s</figcaption>\n",
            scale->logarithmic ? "; the axis is logarithmic" : "");
}

/* Says what the axis leaves out. */
static void write_outside(FILE *out, const struct side sides[2], const struct scale *scale)
{
    size_t n = 0;
    double farthest = 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sides[k].n; i++)
            if (!is_seen(scale, sides[k].samples[i])) {
                n++;
                farthest = fmax(farthest, sides[k].samples[i]);
            }
    if (!n)
        return;
    fprintf(out, "<p class=\"note\">%zu sample%s outside the axis", n, n > 1 ? "s" : "");
    if (farthest > scale->high) {
        fputs("; the slowest took ", out);
        html_text(out, text_time(farthest).text);
    }
    fputs(".</p>\n", out);
}

void distribution_plot(FILE *out, const json_t *one)
{
    struct side sides[2];
    read_side(view_at(one, "device_time"), true, &sides[0]);
    read_side(view_at(one, "baseline"), false, &sides[1]);
    if (isfinite(sides[0].median) || isfinite(sides[1].median)) {
        struct scale scale = scale_for(sides);
        fputs("<figure>\n", out);
        write_caption(out, sides, &scale);
        draw_side(out, &sides[0], &scale);
        draw_side(out, &sides[1], &scale);
        plot_axis(out, &scale, text_time_tick);
        write_outside(out, sides, &scale);
        fputs("</figure>\n", out);
    }
    free(sides[0].samples);
    free(sides[1].samples);
}
