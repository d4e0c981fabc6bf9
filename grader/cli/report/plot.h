/*
 * What plots have in common.
 *
 * A plot is an SVG as wide as the page lets it: x is in percent and y in pixels, so that text, points and lines keep
 * their size on a telephone.  What is made of many pieces is a path in a stretched frame of PLOT_WIDTH units inside.
 */
#ifndef KGRADE_CLI_REPORT_PLOT_H
#define KGRADE_CLI_REPORT_PLOT_H

#include <stdio.h>

#include "../text.h"
#include "scale.h"

#define PLOT_WIDTH 1000.0  /* units of a stretched frame */
#define PLOT_MARGIN 2.0    /* percent, left and right of the scale */
#define PLOT_MAX_LABEL 640 /* bytes; room for five times or rates in words */

/* Where the value is, in percent of the width. */
double plot_x(const struct scale *scale, double value);

/* A plot so many pixels high; label tells those who do not see it what it shows. */
void plot_open(FILE *out, int height, const char *label);
void plot_close(FILE *out);

/* A frame whose x runs from 0 to PLOT_WIDTH over the width of the plot. */
void plot_open_frame(FILE *out, int height);
void plot_close_frame(FILE *out);

/* Lines and marks of a class of the style sheet; x in percent. */
void plot_line(FILE *out, const char *of, double x1, double y1, double x2, double y2);
void plot_box(FILE *out, const char *of, double x, double y, double width, double height);
/* The candidate is a disc, the baseline a larger hollow square on its corner: both are seen where they meet. */
void plot_disc(FILE *out, const char *of, double x, double y);
void plot_diamond(FILE *out, const char *of, double x, double y);

typedef struct text_short (*plot_label)(double value);

/* Upright lines where plot_axis writes numbers. */
void plot_grid(FILE *out, const struct scale *scale, int height);
/* The numbers below a plot, as a plot of its own. */
void plot_axis(FILE *out, const struct scale *scale, plot_label label);

/* The mark and name that stand for candidate and baseline. */
void plot_key(FILE *out, bool candidate);

#endif
