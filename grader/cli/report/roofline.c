#define _GNU_SOURCE
#include "roofline.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../text.h"
#include "../view.h"
#include "html.h"
#include "plot.h"

#define HEIGHT 188
#define TOP 8.0
#define BOTTOM (HEIGHT - 4.0)
#define BAR_HEIGHT 14.0
#define ROW 30
#define MAX_Y_TICKS 4

struct facts {
    double bytes, operations;         /* of one replay */
    double memory, cache, arithmetic; /* per second */
    bool warm;                        /* the cache's rate may hold */
    double candidate_ns, baseline_ns;
};

static struct text_short rate_label(double value)
{
    return text_scaled(value, "op/s");
}

static struct text_short intensity_label(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%.4g", value);
    return s;
}

static struct text_short bandwidth_label(double value)
{
    return text_scaled(value, "B/s");
}

static double per_second(double amount, double ns)
{
    return ns > 0 ? amount / ns * 1e9 : NAN;
}

static void write_key(FILE *out, const char *line, const char *name, const char *value)
{
    fprintf(out,
            "<span><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"22\" "
            "height=\"14\" aria-hidden=\"true\"><line class=\"%s\" x1=\"1\" y1=\"7\" "
            "x2=\"21\" y2=\"7\"/></svg>%s ",
            line, name);
    html_text(out, value);
    fputs("</span> ", out);
}

static void write_point_key(FILE *out, bool candidate, const char *value)
{
    fputs("<span>", out);
    plot_key(out, candidate);
    fputs(" ", out);
    html_text(out, value);
    fputs("</span> ", out);
}

/* From the bottom up. */
static double y_of(const struct scale *y, double value)
{
    return BOTTOM - scale_at(y, value) * (BOTTOM - TOP);
}

/* rate times intensity up to the arithmetic ceiling, where the scales show it. */
static void draw_slope(FILE *out, const char *of, const struct scale *x, const struct scale *y,
                       double rate, double until)
{
    double from = fmax(x->low, y->low / rate), to = fmin(fmin(x->high, until), y->high / rate);
    if (from < to)
        plot_line(out, of, plot_x(x, from), y_of(y, from * rate), plot_x(x, to),
                  y_of(y, to * rate));
}

static void draw_ceilings(FILE *out, const struct facts *f, const struct scale *x,
                          const struct scale *y)
{
    bool faster_cache = f->warm && f->cache > f->memory;
    double ridge = f->arithmetic / f->memory;
    double shoulder = faster_cache ? f->arithmetic / f->cache : ridge;
    draw_slope(out, "roof", x, y, f->memory, ridge);
    if (faster_cache)
        draw_slope(out, "roof dashed", x, y, f->cache, shoulder);
    plot_line(out, "roof", plot_x(x, shoulder), y_of(y, f->arithmetic), plot_x(x, x->high),
              y_of(y, f->arithmetic));
}

static void draw_scale(FILE *out, const struct scale *x, const struct scale *y)
{
    double ticks[SCALE_MAX_TICKS];
    plot_grid(out, x, HEIGHT);
    size_t n = scale_ticks(y, MAX_Y_TICKS, ticks);
    for (size_t i = 0; i < n; i++) {
        double at = y_of(y, ticks[i]);
        plot_line(out, "grid", 0, at, 100, at);
    }
}

static void write_rates(FILE *out, const struct scale *y)
{
    double ticks[SCALE_MAX_TICKS];
    size_t n = scale_ticks(y, MAX_Y_TICKS, ticks);
    for (size_t i = 0; i < n; i++) {
        double at = y_of(y, ticks[i]);
        fputs("<text class=\"tick\" x=\"0\" y=\"", out);
        html_coordinate(out, at < TOP + 14 ? at + 14 : at - 4);
        fputs("\">", out);
        html_text(out, rate_label(ticks[i]).text);
        fputs("</text>", out);
    }
}

static void plot_work(FILE *out, const struct facts *f)
{
    double intensity = f->operations / f->bytes, ridge = f->arithmetic / f->memory;
    double candidate = per_second(f->operations, f->candidate_ns);
    double baseline = per_second(f->operations, f->baseline_ns);
    double least = fmin(fmin(candidate, baseline), f->memory * intensity);
    struct scale x = scale_over(fmin(intensity, ridge) / 6, fmax(intensity, ridge) * 4, true);
    struct scale y =
        scale_over(least / 6, fmax(f->arithmetic, fmax(candidate, baseline)) * 2, true);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label,
             "Roofline: %.4g operations per byte; candidate %s, baseline %s; ceilings %s and %s",
             intensity, rate_label(candidate).text, rate_label(baseline).text,
             bandwidth_label(f->memory).text, rate_label(f->arithmetic).text);
    plot_open(out, HEIGHT, label);
    draw_scale(out, &x, &y);
    draw_ceilings(out, f, &x, &y);
    write_rates(out, &y);
    if (isfinite(baseline))
        plot_diamond(out, "diamond", plot_x(&x, intensity), y_of(&y, baseline));
    if (isfinite(candidate))
        plot_disc(out, "a ring", plot_x(&x, intensity), y_of(&y, candidate));
    plot_close(out);
    plot_axis(out, &x, intensity_label);
    fputs("<p class=\"note axis\">operations per byte</p>\n<p class=\"keys\">", out);
    write_point_key(out, true, rate_label(candidate).text);
    if (isfinite(baseline))
        write_point_key(out, false, rate_label(baseline).text);
    char roof[PLOT_MAX_LABEL];
    snprintf(roof, sizeof roof, "%s, arithmetic %s", bandwidth_label(f->memory).text,
             rate_label(f->arithmetic).text);
    write_key(out, "roof", "memory", roof);
    if (f->warm && f->cache > f->memory)
        write_key(out, "roof dashed", "caches", bandwidth_label(f->cache).text);
    fputs("</p>\n", out);
}

static void draw_bar(FILE *out, const char *of, const struct scale *x, int row, double value)
{
    double from = plot_x(x, 0);
    if (isfinite(value))
        plot_box(out, of, from, row * ROW + (ROW - BAR_HEIGHT) / 2, plot_x(x, value) - from,
                 BAR_HEIGHT);
}

/* A task without arithmetic has no intensity: what counts is how fast it moves its bytes. */
static void plot_traffic(FILE *out, const struct facts *f)
{
    double candidate = per_second(f->bytes, f->candidate_ns);
    double baseline = per_second(f->bytes, f->baseline_ns);
    bool cache = f->warm && f->cache > f->memory;
    double most = fmax(fmax(candidate, baseline), cache ? f->cache : f->memory);
    struct scale x = scale_over(0, most * 1.05, false);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label, "Bytes per second: candidate %s, baseline %s; memory's rate %s",
             bandwidth_label(candidate).text, bandwidth_label(baseline).text,
             bandwidth_label(f->memory).text);
    plot_open(out, 2 * ROW, label);
    plot_grid(out, &x, 2 * ROW);
    draw_bar(out, "a", &x, 0, candidate);
    draw_bar(out, "b", &x, 1, baseline);
    plot_line(out, "roof", plot_x(&x, f->memory), 0, plot_x(&x, f->memory), 2 * ROW);
    if (cache)
        plot_line(out, "roof dashed", plot_x(&x, f->cache), 0, plot_x(&x, f->cache), 2 * ROW);
    plot_close(out);
    plot_axis(out, &x, bandwidth_label);
    fputs("<p class=\"keys\">", out);
    write_point_key(out, true, bandwidth_label(candidate).text);
    if (isfinite(baseline))
        write_point_key(out, false, bandwidth_label(baseline).text);
    write_key(out, "roof", "memory", bandwidth_label(f->memory).text);
    if (cache)
        write_key(out, "roof dashed", "caches", bandwidth_label(f->cache).text);
    fputs("</p>\n", out);
}

static void write_sentence(FILE *out, const json_t *roofline)
{
    const char *bound = view_string(roofline, "bound");
    fprintf(out, "<p class=\"note\">%.1f %% of what ", view_number(roofline, "fraction") * 100);
    html_text(out, bound ? bound : "the device");
    fputs(" allows", out);
    double bytes = view_number(roofline, "bytes"), operations = view_number(roofline, "operations");
    if (bytes >= 0 && operations >= 0) {
        fputs(": ", out);
        html_text(out, text_scaled(bytes, "B").text);
        fputs(" to move", out);
        if (operations > 0) {
            fputs(", ", out);
            html_text(out, text_scaled(operations, "op").text);
            fputs(" to do", out);
        }
    }
    fputs(".</p>\n", out);
}

void roofline_plot(FILE *out, const json_t *one)
{
    const json_t *roofline = view_at(one, "roofline");
    if (!isfinite(view_number(roofline, "fraction")))
        return;
    const char *cache = view_string(one, "device_time.cache");
    struct facts f = {
        .bytes = view_number(roofline, "bytes"),
        .operations = view_number(roofline, "operations"),
        .memory = view_number(roofline, "memory_bytes_per_s"),
        .cache = view_number(roofline, "cache_bytes_per_s"),
        .arithmetic = view_number(roofline, "operations_per_s"),
        .warm = cache && !strcmp(cache, "warm"),
        .candidate_ns = view_time_ns(view_at(one, "device_time")),
        .baseline_ns = view_time_ns(view_at(one, "baseline")),
    };
    fputs("<figure>\n<figcaption>Roofline</figcaption>\n", out);
    write_sentence(out, roofline);
    if (f.memory > 0 && f.arithmetic > 0 && f.bytes > 0 && f.candidate_ns > 0) {
        if (f.operations > 0)
            plot_work(out, &f);
        else
            plot_traffic(out, &f);
    }
    fputs("</figure>\n", out);
}
