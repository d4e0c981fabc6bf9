#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../profile.h"
#include "../view.h"
#include "html.h"
#include "plot.h"
#include "sections.h"

#define HEIGHT 18
#define MAX_ROWS 96   /* of a phase */
#define MAX_DEPTH 12  /* that indents */
#define INDENT_REM .7 /* of a level */

/* What of a call is in the range, and what of that is its own. */
static void write_bar(FILE *out, double inclusive, double self, double whole, const char *label)
{
    double room = 100 - 2 * PLOT_MARGIN;
    plot_open(out, HEIGHT, label);
    plot_box(out, "a soft", PLOT_MARGIN, 4, room * fmin(inclusive / whole, 1), HEIGHT - 8);
    plot_box(out, "a", PLOT_MARGIN, 4, room * fmin(self / whole, 1), HEIGHT - 8);
    plot_close(out);
}

static void write_row(FILE *out, const json_t *rows, const json_t *row, double calls, double whole)
{
    const json_t *own = profile_row_like(rows, row, "self");
    double depth = view_number(row, "depth");
    double inclusive = profile_per_call(row, calls), self = profile_per_call(own, calls);
    const char *name = view_string(row, "range");
    char label[PLOT_MAX_LABEL];
    if (!name || !(inclusive >= 0) || !(self >= 0) || !(whole > 0))
        return;
    snprintf(label, sizeof label, "%s a call, %s of it its own; median %s",
             text_time(inclusive).text, text_time(self).text,
             text_time(view_number(row, "median")).text);
    fprintf(out, "<div class=\"row\"><p class=\"name\" style=\"padding-left:%.1frem\">",
            INDENT_REM * fmin(fmax(depth, 0), MAX_DEPTH));
    html_text(out, name);
    if (view_number(row, "thread") > 0)
        fprintf(out, " <span class=\"dim\">thread %.0f</span>", view_number(row, "thread"));
    fputs("</p>", out);
    write_bar(out, inclusive, self, whole, label);
    fputs("<p class=\"value\"><b>", out);
    html_text(out, text_time(inclusive).text);
    fputs("</b> <span class=\"dim\">own ", out);
    html_text(out, text_time(self).text);
    fputs("</span> <span class=\"dim calls\">", out);
    fprintf(out, "%.4g\303\227%s</span>", view_number(row, "count") / calls,
            view_true(row, "observer_sensitive") ? " *" : "");
    fputs("</p></div>\n", out);
}

static void write_phase(FILE *out, const json_t *profile, const char *phase)
{
    const json_t *rows = view_at(profile, "rows");
    double calls = view_number(view_at(profile, "calls"), phase);
    const json_t *entry = profile_find_row(rows, phase, "candidate.entry");
    double whole = profile_per_call(entry, calls);
    size_t i, n = 0;
    json_t *row;
    if (!entry || !(calls > 0))
        return;
    fprintf(out, "<h3>%s: %.0f call%s%s</h3>\n<div class=\"rows\">\n",
            strcmp(phase, "cold") ? "Warm" : "Cold", calls, calls > 1 ? "s" : "",
            strcmp(phase, "cold") ? "" : ", each the first of a fresh process");
    json_array_foreach(rows, i, row)
    {
        const char *of = view_string(row, "phase"), *metric = view_string(row, "metric");
        if (of && metric && !strcmp(of, phase) && !strcmp(metric, "inclusive") && n++ < MAX_ROWS)
            write_row(out, rows, row, calls, whole);
    }
    fputs("</div>\n", out);
    if (n > MAX_ROWS)
        fprintf(out, "<p class=\"note\">%zu more are not drawn; the result has them.</p>\n",
                n - MAX_ROWS);
}

static void write_errors(FILE *out, const json_t *profile)
{
    size_t i;
    json_t *error;
    json_array_foreach(view_at(profile, "errors"), i, error)
    {
        const char *message = view_string(error, "message");
        fputs("<p class=\"note\">", out);
        html_text(out, message ? message : "");
        fputs("</p>\n", out);
    }
}

void section_ranges(FILE *out, const json_t *result)
{
    const json_t *profile = view_at(result, "profile");
    if (!json_array_size(view_at(profile, "rows")) && !json_array_size(view_at(profile, "errors")))
        return;
    fputs("<section>\n<h2>Where host time goes</h2>\n<p class=\"note\">Ranges of the host code, "
          "per call: dark is a range's own time, light that of ranges in it. Apart from the grade, "
          "and not scored. * marks ranges of which noting them is a tenth or more.</p>\n",
          out);
    write_errors(out, profile);
    write_phase(out, profile, "cold");
    write_phase(out, profile, "warm");
    fputs("</section>\n", out);
}
