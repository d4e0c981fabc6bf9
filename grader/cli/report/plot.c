#include "plot.h"

#include <string.h>

#include "html.h"

#define AXIS_HEIGHT 20
#define AXIS_TICKS 5
#define MARK 5.0 /* pixels from the middle of a mark to its edge */
#define NEAR_EDGE 8.0

double plot_x(const struct scale *scale, double value)
{
    return PLOT_MARGIN + scale_at(scale, value) * (100 - 2 * PLOT_MARGIN);
}

void plot_open(FILE *out, int height, const char *label)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"100%%\" "
            "height=\"%d\"",
            height);
    if (label) {
        fputs(" role=\"img\" aria-label=\"", out);
        html_text(out, label);
        fputs("\">", out);
    } else {
        fputs(" aria-hidden=\"true\">", out);
    }
}

void plot_close(FILE *out)
{
    fputs("</svg>\n", out);
}

void plot_open_frame(FILE *out, int height)
{
    fprintf(out,
            "<svg viewBox=\"0 0 %.0f %d\" preserveAspectRatio=\"none\" width=\"100%%\" "
            "height=\"%d\">",
            PLOT_WIDTH, height, height);
}

void plot_close_frame(FILE *out)
{
    fputs("</svg>", out);
}

static void attribute(FILE *out, const char *name, double value, const char *unit)
{
    fprintf(out, " %s=\"", name);
    html_coordinate(out, value);
    fprintf(out, "%s\"", unit);
}

void plot_line(FILE *out, const char *of, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\"", of);
    attribute(out, "x1", x1, "%");
    attribute(out, "y1", y1, "");
    attribute(out, "x2", x2, "%");
    attribute(out, "y2", y2, "");
    fputs("/>", out);
}

void plot_box(FILE *out, const char *of, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\"", of);
    attribute(out, "x", x, "%");
    attribute(out, "y", y, "");
    attribute(out, "width", width > 0 ? width : 0, "%");
    attribute(out, "height", height > 0 ? height : 0, "");
    fputs("/>", out);
}

void plot_disc(FILE *out, const char *of, double x, double y)
{
    fprintf(out, "<circle class=\"%s\"", of);
    attribute(out, "cx", x, "%");
    attribute(out, "cy", y, "");
    attribute(out, "r", MARK, "");
    fputs("/>", out);
}

void plot_diamond(FILE *out, const char *of, double x, double y)
{
    fputs("<svg class=\"mark\"", out);
    attribute(out, "x", x, "%");
    attribute(out, "y", y, "");
    fprintf(out, "><path class=\"%s\" d=\"M0 -9L9 0L0 9L-9 0Z\"/></svg>", of);
}

void plot_grid(FILE *out, const struct scale *scale, int height)
{
    double ticks[SCALE_MAX_TICKS];
    size_t n = scale_ticks(scale, AXIS_TICKS, ticks);
    for (size_t i = 0; i < n; i++) {
        double x = plot_x(scale, ticks[i]);
        plot_line(out, "grid", x, 0, x, height);
    }
}

void plot_axis(FILE *out, const struct scale *scale, plot_label label)
{
    double ticks[SCALE_MAX_TICKS];
    size_t n = scale_ticks(scale, AXIS_TICKS, ticks);
    plot_open(out, AXIS_HEIGHT, NULL);
    for (size_t i = 0; i < n; i++) {
        double x = plot_x(scale, ticks[i]);
        const char *anchor = x < NEAR_EDGE ? "start" : x > 100 - NEAR_EDGE ? "end" : "middle";
        fprintf(out, "<text class=\"tick\" text-anchor=\"%s\"", anchor);
        attribute(out, "x", x, "%");
        attribute(out, "y", AXIS_HEIGHT - 5, "");
        fputs(">", out);
        html_text(out, label(ticks[i]).text);
        fputs("</text>", out);
    }
    plot_close(out);
}

void plot_key(FILE *out, bool candidate)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"14\" height=\"14\" "
          "aria-hidden=\"true\">",
          out);
    fputs(candidate ? "<circle class=\"a\" cx=\"7\" cy=\"7\" r=\"5\"/>"
                    : "<path class=\"diamond\" d=\"M7 1L13 7L7 13L1 7Z\"/>",
          out);
    fprintf(out, "</svg>%s", candidate ? "candidate" : "baseline");
}
