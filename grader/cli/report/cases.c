#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../cli.h"
#include "../grid.h"
#include "../view.h"
#include "distribution.h"
#include "html.h"
#include "plot.h"
#include "report.h"
#include "roofline.h"
#include "sections.h"

#define ROW_HEIGHT 22

void section_case_name(FILE *out, const json_t *one)
{
    const char *kind = view_string(one, "kind");
    cleanup_free char *dims = view_assignments(view_at(one, "dims"));
    html_text(out, kind ? kind : "case");
    if (dims && *dims) {
        fputs(" ", out);
        html_text(out, dims);
    }
}

/* --- the table --- */

static bool column_is_used(const struct grid *grid, size_t column)
{
    for (size_t row = 1; row < grid->rows && row < GRID_MAX_ROWS; row++)
        if (grid->cells[row][column] && *grid->cells[row][column])
            return true;
    return false;
}

static void write_cell(FILE *out, const struct grid *grid, size_t row, size_t column)
{
    const char *text = grid->cells[row][column], *heading = grid->cells[0][column];
    bool is_wrong = text && !strcmp(text, "NO");
    fprintf(out, "<td%s data-label=\"",
            is_wrong              ? " class=\"bad\""
            : column < grid->left ? " class=\"left\""
            : text && *text       ? ""
                                  : " class=\"empty\"");
    html_text(out, heading);
    fputs("\">", out);
    html_text(out, text);
    fputs("</td>", out);
}

static void write_table(FILE *out, const struct grid *grid)
{
    fputs("<div class=\"wide\"><table class=\"cases\">\n<thead><tr>", out);
    for (size_t c = 0; c < grid->columns; c++)
        if (column_is_used(grid, c)) {
            fprintf(out, "<th scope=\"col\"%s>", c < grid->left ? " class=\"left\"" : "");
            html_text(out, grid->cells[0][c]);
            fputs("</th>", out);
        }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t row = 1; row < grid->rows && row < GRID_MAX_ROWS; row++) {
        fputs("<tr>", out);
        for (size_t c = 0; c < grid->columns; c++)
            if (column_is_used(grid, c))
                write_cell(out, grid, row, c);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* --- speedups --- */

static struct text_short times_label(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%.4g×", value);
    return s;
}

/* From the lowest to the highest end of an interval, with the baseline's 1 inside.  False: there is none. */
static bool speedup_scale(const json_t *cases, struct scale *ret)
{
    static const char *const keys[] = {"speedup.value", "speedup.low", "speedup.high"};
    double low = 1, high = 1;
    bool found = false;
    for (size_t i = 0; i < json_array_size(cases); i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            double value = view_number(json_array_get(cases, i), keys[k]);
            if (!(value > 0))
                continue;
            low = fmin(low, value);
            high = fmax(high, value);
            found |= k == 0;
        }
    double room = pow(high / low, 0.08);
    *ret = scale_over(low / fmax(room, 1.01), high * fmax(room, 1.01), true);
    return found;
}

static void write_speedup(FILE *out, const json_t *one, const struct scale *scale)
{
    double value = view_number(one, "speedup.value");
    double low = view_number(one, "speedup.low"), high = view_number(one, "speedup.high");
    fputs("<div class=\"row\"><p class=\"name\">", out);
    section_case_name(out, one);
    fputs("</p>", out);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label, "Speedup %.3f, between %.3f and %.3f", value, low, high);
    plot_open(out, ROW_HEIGHT, label);
    plot_grid(out, scale, ROW_HEIGHT);
    plot_line(out, "roof", plot_x(scale, 1), 0, plot_x(scale, 1), ROW_HEIGHT);
    double middle = ROW_HEIGHT / 2.0;
    if (isfinite(low) && isfinite(high))
        plot_line(out, "interval a", plot_x(scale, low), middle, plot_x(scale, high), middle);
    plot_disc(out, "a", plot_x(scale, value), middle);
    plot_close(out);
    fprintf(out, "<p class=\"value\"><b>%.3f</b>", value);
    if (isfinite(low) && isfinite(high))
        fprintf(out, " <span class=\"dim\">%.3f–%.3f</span>", low, high);
    fputs("</p></div>\n", out);
}

static void write_speedups(FILE *out, const json_t *cases)
{
    struct scale scale;
    if (!speedup_scale(cases, &scale))
        return;
    fputs("<figure>\n<figcaption>Speedup over the baseline, which is 1×</figcaption>\n"
          "<div class=\"rows\">\n",
          out);
    for (size_t i = 0; i < json_array_size(cases) && i < REPORT_MAX_CASES; i++)
        if (view_number(json_array_get(cases, i), "speedup.value") > 0)
            write_speedup(out, json_array_get(cases, i), &scale);
    fputs("<div class=\"row\"><p class=\"name\"></p>", out);
    plot_axis(out, &scale, times_label);
    fputs("<p class=\"value\"></p></div>\n</div>\n</figure>\n", out);
}

/* --- plots of one case --- */

static void write_benchmark(FILE *out, const json_t *one)
{
    if (!isfinite(view_number(one, "device_time.median_ns")))
        return;
    fputs("<section>\n<h2>", out);
    section_case_name(out, one);
    fputs("</h2>\n<div class=\"pair\">\n", out);
    distribution_plot(out, one);
    roofline_plot(out, one);
    fputs("</div>\n</section>\n", out);
}

void section_cases(FILE *out, const json_t *result)
{
    const json_t *cases = view_at(result, "cases");
    struct grid grid = {0};
    table_fill(cases, &grid);
    if (grid.rows > 1) {
        fputs("<section>\n<h2>Cases</h2>\n", out);
        write_table(out, &grid);
        write_speedups(out, cases);
        fputs("</section>\n", out);
    }
    grid_free(&grid);
    for (size_t i = 0; i < json_array_size(cases) && i < REPORT_MAX_CASES; i++)
        write_benchmark(out, json_array_get(cases, i));
}
