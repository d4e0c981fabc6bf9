/* Clouds of points: the old figure and the new one, the launch path and the kernel. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "../../cli/report/plot.h"
#include "../../measure/statistics.h"
#include "page.h"

/* Pixels, but for numbers of things. */
#define HEIGHT 380
#define EDGE 8.0    /* above and below the scale */
#define CORNER 40.0 /* from the foot, where no number is written */
#define DISC 4.0    /* around the middle of a point, what no label may cover */
#define LETTER 7.6  /* of a label */
#define LINE 16.0
#define WIDTH 286.0 /* that labels are kept apart for: a small telephone's */
#define NAMED 300u  /* points with a name to those who point at them; the others are one path */
#define LABELS 7u   /* beside their points */
#define LETTERS 16  /* of a label */
#define ROOM 1.3    /* by which the axes reach beyond the points */
#define Y_TICKS 5

struct point {
    const struct board_entry *entry;
    double x, y;
    unsigned weight; /* who is labelled first; 0: nobody */
};

struct cloud {
    struct point *points;
    size_t n;
    struct scale scale; /* of both axes, so that the diagonal means the same */
    plot_label label;
    const char *diagonal; /* what it means to be on it */
    const char *x, *y;
};

struct box {
    double left, right, top, bottom;
};

static double y_of(const struct cloud *c, double value)
{
    return HEIGHT - EDGE - scale_at(&c->scale, value) * (HEIGHT - 2 * EDGE);
}

static bool is_launch(const struct board_entry *e)
{
    return e->ranked.gain == RANKING_GAIN_LAUNCH;
}

/* --- the frame --- */

static void draw_grid(FILE *out, const struct cloud *c)
{
    plot_grid(out, &c->scale, HEIGHT);
    double ticks[SCALE_MAX_TICKS];
    size_t n = scale_ticks(&c->scale, Y_TICKS, ticks);
    for (size_t i = 0; i < n; i++)
        plot_line(out, "grid", 0, y_of(c, ticks[i]), 100, y_of(c, ticks[i]));
    plot_line(out, "diagonal", PLOT_MARGIN, y_of(c, c->scale.low), 100 - PLOT_MARGIN,
              y_of(c, c->scale.high));
}

/* Also fills where these texts are.  At the corner the axis below says the same. */
static size_t draw_ticks(FILE *out, const struct cloud *c, struct box ret[SCALE_MAX_TICKS])
{
    double ticks[SCALE_MAX_TICKS];
    size_t n = scale_ticks(&c->scale, Y_TICKS, ticks), k = 0;
    for (size_t i = 0; i < n; i++) {
        double at = y_of(c, ticks[i]);
        if (at > HEIGHT - CORNER)
            continue;
        at = at < 18 ? at + 14 : at - 4;
        struct text_short text = c->label(ticks[i]);
        fputs("<text class=\"tick\" x=\"0\" y=\"", out);
        html_coordinate(out, at);
        fputs("\">", out);
        html_text(out, text.text);
        fputs("</text>", out);
        ret[k++] = (struct box){0, (double)strlen(text.text) * LETTER, at - LINE, at + LINE / 2};
    }
    return k;
}

/* --- points --- */

static int compare_weights(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static void draw_disc(FILE *out, const struct board *b, const struct cloud *c,
                      const struct point *p)
{
    fputs("<g>", out);
    plot_disc(out, is_launch(p->entry) ? "b dot" : "a dot", plot_x(&c->scale, p->x), y_of(c, p->y));
    fputs("<title>", out);
    board_write_name(out, p->entry->label);
    if (b->n_tables > 1) {
        fputs(", ", out);
        board_write_table_name(out, &b->tables[p->entry->table]);
    }
    fputs(": ", out);
    html_text(out, c->label(p->x).text);
    fputs(", ", out);
    html_text(out, c->label(p->y).text);
    fputs("</title></g>", out);
}

/* The many without names, as dots of one line. */
static void draw_mass(FILE *out, const struct cloud *c, size_t from)
{
    if (from >= c->n)
        return;
    plot_open_frame(out, HEIGHT);
    fputs("<path class=\"mass\" d=\"", out);
    for (size_t i = from; i < c->n && i < BOARD_MAX_POINTS; i++)
        fprintf(out, "M%.0f %.0fh0", plot_x(&c->scale, c->points[i].x) * PLOT_WIDTH / 100,
                y_of(c, c->points[i].y));
    fputs("\"/>", out);
    plot_close_frame(out);
}

static bool is_free(const struct box *taken, size_t n, const struct box *box)
{
    if (box->left < 0 || box->right > WIDTH || box->top < 0 || box->bottom > HEIGHT)
        return false;
    for (size_t i = 0; i < n; i++)
        if (box->left < taken[i].right && taken[i].left < box->right &&
            box->top < taken[i].bottom && taken[i].top < box->bottom)
            return false;
    return true;
}

/* Where a label may stand: on which side of its point, and how far below it. */
static const struct {
    bool left;
    double below;
} sides[] = {{false, 0}, {true, 0}, {false, -13}, {false, 13}, {true, -13}, {true, 13}};

/* A label at the first side where there is room, else none.  A wider screen only moves things farther apart. */
static bool place_label(FILE *out, const struct cloud *c, const struct point *p,
                        const struct box *taken, size_t n, struct box *ret)
{
    double x = plot_x(&c->scale, p->x), at = x / 100 * WIDTH;
    size_t letters = strlen(p->entry->label);
    double width = (double)(letters < LETTERS ? letters : LETTERS + 1) * LETTER;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        double y = y_of(c, p->y) + sides[i].below;
        double from = sides[i].left ? at - 8 - width : at + 8;
        *ret = (struct box){from, from + width, y - LINE / 2, y + LINE / 2};
        if (!is_free(taken, n, ret))
            continue;
        fprintf(out, "<svg class=\"mark\" x=\"");
        html_coordinate(out, x);
        fputs("%\" y=\"", out);
        html_coordinate(out, y + 4);
        fprintf(out, "\"><text class=\"name\" text-anchor=\"%s\" x=\"%d\" y=\"0\">",
                sides[i].left ? "end" : "start", sides[i].left ? -8 : 8);
        html_text_cut(out, p->entry->label, LETTERS);
        fputs("</text></svg>", out);
        return true;
    }
    return false;
}

/* taken: where texts are already, with room for the discs and the labels. */
static void draw_labels(FILE *out, const struct cloud *c, struct box taken[], size_t n)
{
    for (size_t i = 0; i < c->n && i < NAMED; i++) {
        double x = plot_x(&c->scale, c->points[i].x) / 100 * WIDTH, y = y_of(c, c->points[i].y);
        taken[n++] = (struct box){x - DISC, x + DISC, y - DISC, y + DISC};
    }
    size_t labels = 0;
    for (size_t i = 0; i < c->n && c->points[i].weight && labels < LABELS; i++)
        if (place_label(out, c, &c->points[i], taken, n, &taken[n])) {
            labels++;
            n++;
        }
}

/* From the smallest to the largest of both coordinates. */
static void set_scale(struct cloud *c)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < c->n; i++) {
        low = fmin(low, fmin(c->points[i].x, c->points[i].y));
        high = fmax(high, fmax(c->points[i].x, c->points[i].y));
    }
    c->scale = scale_over(low / ROOM, high * ROOM, true);
}

static void write_keys(FILE *out, const struct cloud *c)
{
    bool launch = false;
    for (size_t i = 0; i < c->n; i++)
        launch |= is_launch(c->points[i].entry);
    static const char open[] = "<span><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" "
                               "width=\"22\" height=\"14\" aria-hidden=\"true\">";
    fputs("<p class=\"keys\">", out);
    if (launch)
        fprintf(out,
                "%s<circle class=\"b\" cx=\"11\" cy=\"7\" r=\"5\"/></svg>its lead was the launch "
                "path’s</span> %s<circle class=\"a\" cx=\"11\" cy=\"7\" r=\"5\"/></svg>any "
                "other</span> ",
                open, open);
    fprintf(
        out,
        "%s<line class=\"diagonal\" x1=\"1\" y1=\"7\" x2=\"21\" y2=\"7\"/></svg>%s</span></p>\n",
        open, c->diagonal);
}

static void draw(FILE *out, const struct board *b, struct cloud *c)
{
    set_scale(c);
    qsort(c->points, c->n, sizeof *c->points, compare_weights);
    fputs("<figure class=\"cloud\">\n", out);
    write_keys(out, c);
    fprintf(out, "<p class=\"note axis-y\">↑ %s</p>\n", c->y);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label, "%zu entries: %s to the right, %s upwards", c->n, c->x, c->y);
    plot_open(out, HEIGHT, label);
    draw_grid(out, c);
    draw_mass(out, c, NAMED);
    struct box taken[SCALE_MAX_TICKS + NAMED + LABELS];
    size_t n = draw_ticks(out, c, taken);
    /* Those that matter are drawn last, on top of the others. */
    for (size_t i = c->n < NAMED ? c->n : NAMED; i-- > 0;)
        draw_disc(out, b, c, &c->points[i]);
    draw_labels(out, c, taken, n);
    plot_close(out);
    plot_axis(out, &c->scale, c->label);
    fprintf(out, "<p class=\"note axis\">%s →</p>\n", c->x);
    if (c->n > BOARD_MAX_POINTS)
        fprintf(out, "<p class=\"note\">Drawn are %u of %zu.</p>\n", BOARD_MAX_POINTS, c->n);
    fputs("</figure>\n", out);
}

/* --- what is drawn --- */

static bool is_positive(double value)
{
    return isfinite(value) && value > 0;
}

/* Those whose lead is gone, by their old place; then who leads, then and now, where that is one entry. */
static unsigned weight_of(const struct board *b, const struct board_entry *e)
{
    unsigned rank = e->ranked.old_rank < 900 ? e->ranked.old_rank : 900;
    if (is_launch(e))
        return 2000 - rank;
    if (b->n_tables > 1)
        return 0;
    if (rank == 1 || e->ranked.new_rank == 1)
        return 100;
    return rank && rank <= 3 ? 10 - rank : 0;
}

static void add_point(const struct board *b, struct cloud *c, const struct board_entry *e, double x,
                      double y)
{
    if (is_positive(x) && is_positive(y))
        c->points[c->n++] = (struct point){e, x, y, weight_of(b, e)};
}

/* Without a power of ten. */
static struct text_short how_often(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, value < 100 ? "%.2g" : "%.0f", value);
    return s;
}

static struct text_short times_label(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, value < 1000 ? "%.3g×" : "%.0f×", value);
    return s;
}

/* The middle of x / y.  NaN without points or memory. */
static double middle_ratio(const struct cloud *c)
{
    cleanup_free double *ratios = calloc(c->n + 1, sizeof *ratios);
    if (!ratios || c->n == 0)
        return NAN;
    for (size_t i = 0; i < c->n; i++)
        ratios[i] = c->points[i].x / c->points[i].y;
    statistics_sort(ratios, c->n);
    return statistics_quantile(ratios, c->n, 0.5);
}

static int draw_times(FILE *out, const struct board *b, size_t *drawn)
{
    cleanup_free struct point *points = calloc(b->n_tabled + 1, sizeof *points);
    if (!points)
        return -1;
    struct cloud c = {.points = points,
                      .label = text_time_tick,
                      .diagonal = "the same time",
                      .x = "time on the old board",
                      .y = "time on the device, regraded"};
    for (size_t i = 0; i < b->n_tabled; i++)
        if (b->entries[i].counted)
            add_point(b, &c, &b->entries[i], b->entries[i].old_seconds * 1e9,
                      b->entries[i].now_seconds * 1e9);
    if (c.n == 0)
        return 0;
    if ((*drawn)++ == 0)
        fputs("<section>\n<h2>Time, then and now</h2>\n", out);
    double ratio = middle_ratio(&c);
    if (ratio >= 1)
        fprintf(out,
                "<p class=\"lead\">The middle entry took %s times as long on the old board as its "
                "work takes on the device now. What lies far below the diagonal spent its old time "
                "elsewhere: in the launch path, or on other hardware.</p>\n",
                how_often(ratio).text);
    else
        fprintf(out,
                "<p class=\"lead\">The middle entry takes %s times as long now as on the old "
                "board: the hardware is another, or the old clock missed something.</p>\n",
                how_often(1 / ratio).text);
    draw(out, b, &c);
    return 0;
}

static int draw_speedups(FILE *out, const struct board *b, size_t *drawn)
{
    cleanup_free struct point *points = calloc(b->n_tabled + 1, sizeof *points);
    if (!points)
        return -1;
    struct cloud c = {.points = points,
                      .label = times_label,
                      .diagonal = "the same speedup",
                      .x = "speedup on the old board",
                      .y = "speedup, regraded"};
    for (size_t i = 0; i < b->n_tabled; i++)
        if (b->entries[i].counted)
            add_point(b, &c, &b->entries[i], b->entries[i].old_speedup, b->entries[i].now_speedup);
    if (c.n == 0)
        return 0;
    if ((*drawn)++ == 0)
        fputs("<section>\n<h2>Speedup, then and now</h2>\n", out);
    fprintf(out,
            "<p class=\"lead\">The middle entry’s speedup was %.2f times what it is now. The two "
            "are over different baselines, unless the board’s is the task’s.</p>\n",
            middle_ratio(&c));
    draw(out, b, &c);
    return 0;
}

int board_then_now(FILE *out, const struct board *b)
{
    size_t drawn = 0;
    if (draw_times(out, b, &drawn) || draw_speedups(out, b, &drawn))
        return -1;
    if (drawn)
        fputs("</section>\n", out);
    return 0;
}

int board_host(FILE *out, const struct board *b)
{
    cleanup_free struct point *points = calloc(b->n_tabled + 1, sizeof *points);
    if (!points)
        return -1;
    struct cloud c = {.points = points,
                      .label = text_time_tick,
                      .diagonal = "as long as each other",
                      .x = "time on the device",
                      .y = "host overhead of a call"};
    size_t longer = 0;
    for (size_t i = 0; i < b->n_tabled; i++) {
        add_point(b, &c, &b->entries[i], b->entries[i].device_ns, b->entries[i].host_ns);
        longer += b->entries[i].host_ns > b->entries[i].device_ns;
    }
    if (c.n == 0)
        return 0;
    fputs("<section>\n<h2>Host overhead against device time</h2>\n", out);
    if (longer == 0)
        fputs("<p class=\"lead\">No launch path takes longer than what it launches. ", out);
    else
        fprintf(out,
                "<p class=\"lead\">%zu of %zu launch paths take longer than what they launch, "
                "above the diagonal: called one after the other, they are what an old clock saw. ",
                longer, c.n);
    fputs("Host overhead is of a warm call, and earns and costs nothing here.</p>\n", out);
    draw(out, b, &c);
    fputs("</section>\n", out);
    return 0;
}
