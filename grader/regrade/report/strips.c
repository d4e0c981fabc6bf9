#define _GNU_SOURCE
#include "strips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "../../cli/report/plot.h"
#include "../../cli/view.h"
#include "../../measure/statistics.h"
#include "gather.h"

#define HEIGHT 34
#define BOTTOM 30.0
#define BINS 72u
#define TAIL 0.02       /* of the samples may lie outside the axis at either end */
#define LOGARITHMIC 4.0 /* times that are so many times one another need a logarithmic axis */

/* The samples of one entry in one case. */
struct strip {
    const struct board_entry *entry;
    double *samples; /* ascending; owned */
    size_t n;
    double median, p10, p90;
};

static int read_strip(const json_t *result, size_t at, struct strip *ret)
{
    const json_t *cases = view_at(result, "cases"), *one = NULL;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *kind = view_string(json_array_get(cases, i), "kind");
        if (kind && !strcmp(kind, "benchmark") && at-- == 0) {
            one = json_array_get(cases, i);
            break;
        }
    }
    const json_t *samples = view_at(one, "device_time.samples_ns");
    size_t n = json_array_size(samples);
    n = n < STRIPS_MAX_SAMPLES ? n : STRIPS_MAX_SAMPLES;
    ret->samples = calloc(n + 1, sizeof *ret->samples);
    if (!ret->samples)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double value = json_number_value(json_array_get(samples, i));
        if (isfinite(value) && value > 0)
            ret->samples[ret->n++] = value;
    }
    if (ret->n == 0)
        return 0;
    statistics_sort(ret->samples, ret->n);
    ret->median = statistics_quantile(ret->samples, ret->n, 0.5);
    ret->p10 = statistics_quantile(ret->samples, ret->n, 0.1);
    ret->p90 = statistics_quantile(ret->samples, ret->n, 0.9);
    return 0;
}

static struct scale scale_for(const struct strip *strips, size_t n)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strips[i].n)
            continue;
        low = fmin(low, statistics_quantile(strips[i].samples, strips[i].n, TAIL));
        high = fmax(high, statistics_quantile(strips[i].samples, strips[i].n, 1 - TAIL));
    }
    double room = (high - low) * 0.02;
    return high > LOGARITHMIC * low ? scale_over(low, high, true)
                                    : scale_over(low - room, high + room, false);
}

static void draw_histogram(FILE *out, const struct strip *s, const struct scale *scale)
{
    unsigned bins[BINS] = {0}, most = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->samples[i] < scale->low || s->samples[i] > scale->high)
            continue;
        size_t bin = (size_t)(scale_at(scale, s->samples[i]) * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    if (!most)
        return;
    double left = PLOT_MARGIN / 100 * PLOT_WIDTH, width = (PLOT_WIDTH - 2 * left) / BINS;
    plot_open_frame(out, HEIGHT);
    fputs("<path class=\"a soft\" d=\"", out);
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i]) {
            double height = (BOTTOM - 3) * bins[i] / most;
            fprintf(out, "M%.0f %.0fv%.1fh%.1fv%.1fz", left + i * width, BOTTOM, -height,
                    width * 0.9, height);
        }
    fputs("\"/>", out);
    plot_close_frame(out);
}

static void write_strip(FILE *out, const struct strip *s, const struct scale *scale)
{
    fprintf(out, "<div class=\"row\"><p class=\"name\"><b class=\"place\">%u</b> ",
            s->entry->ranked.new_rank);
    board_write_name(out, s->entry->label);
    fputs("</p>", out);
    plot_open(out, HEIGHT, NULL);
    plot_grid(out, scale, HEIGHT);
    draw_histogram(out, s, scale);
    plot_line(out, "interval a", plot_x(scale, s->p10), BOTTOM, plot_x(scale, s->p90), BOTTOM);
    plot_line(out, "median a", plot_x(scale, s->median), 0, plot_x(scale, s->median), HEIGHT);
    plot_close(out);
    fputs("<p class=\"value\"><b>", out);
    html_text(out, text_time(s->median).text);
    fputs("</b> <span class=\"dim\">p10–p90 ", out);
    html_text(out, text_time_range(s->p10, s->p90).text);
    fputs("</span></p></div>\n", out);
}

static void draw_case(FILE *out, const char *name, const struct strip *strips, size_t n)
{
    size_t filled = 0;
    for (size_t i = 0; i < n; i++)
        filled += strips[i].n > 0;
    if (!filled)
        return;
    struct scale scale = scale_for(strips, n);
    fputs("<figure class=\"strips\"><figcaption>", out);
    board_write_name(out, name);
    fputs(scale.logarithmic ? "; the axis is logarithmic</figcaption>\n" : "</figcaption>\n", out);
    for (size_t i = 0; i < n; i++)
        if (strips[i].n)
            write_strip(out, &strips[i], &scale);
    fputs("<div class=\"row\"><p class=\"name\"></p>", out);
    plot_axis(out, &scale, text_time_tick);
    fputs("<p class=\"value\"></p></div>\n</figure>\n", out);
}

static int write_case(FILE *out, const struct board_entry *const *ranked, json_t *const *results,
                      size_t n, size_t at)
{
    struct strip strips[BOARD_MAX_SAMPLED] = {0};
    int status = 0;
    const char *name = NULL;
    for (size_t i = 0; i < n && !status; i++) {
        strips[i].entry = ranked[i];
        status = read_strip(results[i], at, &strips[i]);
        if (at < ranked[i]->n_cases)
            name = ranked[i]->cases[at].name;
    }
    if (!status)
        draw_case(out, name, strips, n);
    for (size_t i = 0; i < n; i++)
        free(strips[i].samples);
    return status;
}

static size_t cases_of(const struct board_entry *const *ranked, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = ranked[i]->n_cases > most ? ranked[i]->n_cases : most;
    return most;
}

static int write_cases(FILE *out, struct board *b, const struct board_entry *const *ranked,
                       json_t *const *results, size_t n)
{
    size_t all = cases_of(ranked, n), cases = all < STRIPS_MAX_CASES ? all : STRIPS_MAX_CASES;
    if (n == 0 || cases == 0 || b->drawn_left < n)
        return 0;
    fputs("<details class=\"samples\"><summary>Samples of ", out);
    board_write_count(out, n, "entry", "entries");
    fputs(
        "</summary>\n<p class=\"note\">Each sample is one replay on inputs never used before: how "
        "often which device time was seen, p10 to p90 and the median.</p>\n",
        out);
    for (size_t at = 0; at < cases && b->drawn_left >= n; at++) {
        b->drawn_left -= n;
        if (write_case(out, ranked, results, n, at))
            return -1;
    }
    if (all > cases)
        fprintf(out, "<p class=\"note\">The first %zu of %zu cases.</p>\n", cases, all);
    fputs("</details>\n", out);
    return 0;
}

int strips_write(FILE *out, struct board *b, const struct board_entry *const *ranked, size_t n,
                 kgrade_error *err)
{
    json_t *results[BOARD_MAX_SAMPLED] = {0};
    n = n < BOARD_MAX_SAMPLED ? n : BOARD_MAX_SAMPLED;
    int status = 0;
    for (size_t i = 0; i < n && !status && b->drawn_left >= n; i++)
        status = regrade_store_result(b->store, ranked[i]->candidate, &results[i], err);
    if (!status && write_cases(out, b, ranked, results, n))
        status = board_no_memory(err);
    for (size_t i = 0; i < n; i++)
        json_decref(results[i]);
    return status;
}
