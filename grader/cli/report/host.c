#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>

#include "../view.h"
#include "html.h"
#include "plot.h"
#include "report.h"
#include "sections.h"

#define HEIGHT 22

static bool has_overhead(const json_t *one)
{
    return view_number(one, "host_overhead.warm_ns") > 0;
}

/* The first call may take ten thousand times as long as a warm one: only a logarithmic axis shows both. */
static bool scale_for(const json_t *cases, struct scale *ret)
{
    static const char *const keys[] = {"host_overhead.warm_ns", "host_overhead.warm_p90_ns",
                                       "host_overhead.cold_ns"};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < json_array_size(cases); i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            double value = view_number(json_array_get(cases, i), keys[k]);
            if (!(value > 0) || !has_overhead(json_array_get(cases, i)))
                continue;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    *ret = scale_over(low / 1.5, high * 1.5, true);
    return isfinite(low);
}

static void write_row(FILE *out, const json_t *one, const struct scale *scale)
{
    double warm = view_number(one, "host_overhead.warm_ns"),
           p90 = view_number(one, "host_overhead.warm_p90_ns"),
           cold = view_number(one, "host_overhead.cold_ns"),
           calls = view_number(one, "host_overhead.calls");
    fputs("<div class=\"row\"><p class=\"name\">", out);
    section_case_name(out, one);
    fputs("</p>", out);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label, "Warm call %s, p90 %s; first call %s", text_time(warm).text,
             text_time(p90).text, text_time(cold).text);
    plot_open(out, HEIGHT, label);
    plot_grid(out, scale, HEIGHT);
    double middle = HEIGHT / 2.0, at = plot_x(scale, warm);
    if (cold > 0)
        plot_line(out, "link", at, middle, plot_x(scale, cold), middle);
    if (p90 > 0)
        plot_line(out, "interval a", at, middle, plot_x(scale, p90), middle);
    if (cold > 0)
        plot_disc(out, "hollow", plot_x(scale, cold), middle);
    plot_disc(out, "a", at, middle);
    plot_close(out);
    fputs("<p class=\"value\"><b>", out);
    html_text(out, text_time(warm).text);
    fputs("</b>", out);
    if (cold > 0) {
        fputs(" <span class=\"dim\">first ", out);
        html_text(out, text_time(cold).text);
        fputs("</span>", out);
    }
    if (calls > 0)
        fprintf(out, " <span class=\"dim calls\">%.0f call%s</span>", calls, calls > 1 ? "s" : "");
    fputs("</p></div>\n", out);
}

void section_host(FILE *out, const json_t *result)
{
    const json_t *cases = view_at(result, "cases");
    struct scale scale;
    if (!scale_for(cases, &scale))
        return;
    const char *advice = view_string(result, "advice");
    fputs("<section>\n<h2>Host overhead</h2>\n", out);
    if (advice) {
        fputs("<p>", out);
        html_text(out, advice);
        fputs("</p>\n", out);
    }
    fputs("<p class=\"note\">What a call costs the CPU before "
          "the device begins. It is not scored. The axis is logarithmic.</p>\n"
          "<p class=\"keys\"><span>"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"30\" height=\"14\" "
          "aria-hidden=\"true\"><line class=\"interval a\" x1=\"7\" y1=\"7\" x2=\"28\" y2=\"7\"/>"
          "<circle class=\"a\" cx=\"7\" cy=\"7\" r=\"5\"/></svg>warm call, median to p90</span> "
          "<span><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"14\" "
          "height=\"14\" aria-hidden=\"true\"><circle class=\"hollow\" cx=\"7\" cy=\"7\" r=\"5\"/>"
          "</svg>first call</span></p>\n<div class=\"rows\">\n",
          out);
    for (size_t i = 0; i < json_array_size(cases) && i < REPORT_MAX_CASES; i++)
        if (has_overhead(json_array_get(cases, i)))
            write_row(out, json_array_get(cases, i), &scale);
    fputs("<div class=\"row\"><p class=\"name\"></p>", out);
    plot_axis(out, &scale, text_time_tick);
    fputs("<p class=\"value\"></p></div>\n</div>\n</section>\n", out);
}
