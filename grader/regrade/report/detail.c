/* Every table in detail: its entries with their intervals, grouped where they are tied, and their samples. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "../../cli/report/plot.h"
#include "gather.h"
#include "strips.h"

#define ROW_HEIGHT 22

static struct text_short seconds_tick(double value)
{
    return text_time_tick(value * 1e9);
}

static struct text_short times_tick(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%.4g×", value);
    return s;
}

static struct text_short points_tick(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%.4g", value);
    return s;
}

static const plot_label ticks[] = {
    [RULE_SECONDS] = seconds_tick, [RULE_SPEEDUP] = times_tick, [RULE_SCORE] = points_tick};

static int compare_ranked(const void *a, const void *b)
{
    const struct board_entry *x = *(const struct board_entry *const *)a;
    const struct board_entry *y = *(const struct board_entry *const *)b;
    if (x->ranked.group != y->ranked.group)
        return x->ranked.group < y->ranked.group ? -1 : 1;
    if (x->ranked.now.value != y->ranked.now.value) {
        bool less = x->ranked.now.value < y->ranked.now.value;
        /* Within a group the figures tell the order; of speedups and scores the larger comes first. */
        return less ? -1 : 1;
    }
    return strcmp(x->label, y->label);
}

/* The accepted entries, best first. */
static size_t sort_ranked(const struct board *b, const struct board_table *t,
                          const struct board_entry **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (b->entries[t->first + i].ranked.group)
            ret[n++] = &b->entries[t->first + i];
    qsort(ret, n, sizeof *ret, compare_ranked);
    if (t->rule->lower_is_better)
        return n;
    for (size_t from = 0; from < n;) { /* turn each group around */
        size_t end = from;
        while (end < n && ret[end]->ranked.group == ret[from]->ranked.group)
            end++;
        for (size_t i = from, k = end; i + 1 < k; i++) {
            const struct board_entry *swap = ret[i];
            ret[i] = ret[--k];
            ret[k] = swap;
        }
        from = end;
    }
    return n;
}

static struct scale scale_for(const struct board_entry *const *ranked, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, ranked[i]->ranked.now.low);
        high = fmax(high, ranked[i]->ranked.now.high);
    }
    double room = low > 0 ? fmax(pow(high / low, 0.04), 1.002) : 1;
    return scale_over(low / room, high * room, true);
}

static void write_row(FILE *out, const struct board_table *t, const struct board_entry *e,
                      bool tied, const struct scale *scale)
{
    const struct rule_span *now = &e->ranked.now;
    double middle = ROW_HEIGHT / 2.0;
    fprintf(out, "<div class=\"row\"><p class=\"name\"><b class=\"place\">%u%s</b> ",
            e->ranked.new_rank, tied ? "=" : "");
    board_write_name(out, e->label);
    fputs("</p>", out);
    plot_open(out, ROW_HEIGHT, NULL);
    plot_grid(out, scale, ROW_HEIGHT);
    plot_line(out, "interval a", plot_x(scale, now->low), middle, plot_x(scale, now->high), middle);
    plot_disc(out, "a", plot_x(scale, now->value), middle);
    plot_close(out);
    fputs("<p class=\"value\"><b>", out);
    html_text(out, board_figure(t->rule->unit, now->value).text);
    fputs("</b> <span class=\"dim\">", out);
    html_text(out, board_figure_range(t->rule->unit, now->low, now->high).text);
    fputs("</span><span class=\"dim\">", out);
    if (!e->ranked.old_rank)
        fputs("no place before", out);
    else
        fprintf(out, "was %u", e->ranked.old_rank);
    if (e->rank && e->rank != e->ranked.old_rank)
        fprintf(out, " (%u on the board)", e->rank);
    if (isfinite(e->value)) {
        fputs(", ", out);
        html_text(out, board_old_figure(e).text);
    }
    if (isfinite(e->host_ns)) {
        fputs("</span><span class=\"dim\">host ", out);
        html_text(out, text_time(e->host_ns).text);
    }
    fputs("</span></p></div>\n", out);
}

static void write_group(FILE *out, const struct board_table *t,
                        const struct board_entry *const *group, size_t n, size_t shown,
                        const struct scale *scale)
{
    fputs(n > 1 ? "<div class=\"tied\">\n" : "<div>\n", out);
    for (size_t i = 0; i < shown; i++)
        write_row(out, t, group[i], n > 1, scale);
    if (n > 1)
        fprintf(out, "<p class=\"note\">%zu tied within noise</p>\n", n);
    fputs("</div>\n", out);
}

static void write_ranked(FILE *out, struct board *b, const struct board_table *t,
                         const struct board_entry *const *ranked, size_t n)
{
    size_t shown = n < BOARD_MAX_RANKED ? n : BOARD_MAX_RANKED;
    shown = shown < b->rows_left ? shown : b->rows_left;
    b->rows_left -= shown;
    if (shown == 0 && n) {
        fprintf(out, "<p class=\"note\">%zu entries; they are in results.csv.</p>\n", n);
        return;
    }
    if (shown == 0)
        return;
    struct scale scale = scale_for(ranked, shown);
    fputs("<div class=\"rows ranked\">\n", out);
    for (size_t from = 0; from < shown;) {
        size_t end = from;
        while (end < n && ranked[end]->ranked.group == ranked[from]->ranked.group)
            end++;
        write_group(out, t, ranked + from, end - from, (end < shown ? end : shown) - from, &scale);
        from = end;
    }
    fputs("<div class=\"row\"><p class=\"name\"></p>", out);
    plot_axis(out, &scale, ticks[t->rule->unit]);
    fputs("<p class=\"value\"></p></div>\n</div>\n", out);
    if (n > shown)
        fprintf(out, "<p class=\"note\">The first %zu of %zu.</p>\n", shown, n);
}

static void write_about(FILE *out, const struct board_table *t)
{
    fputs("<p class=\"note\">Ranked by ", out);
    html_text(out, t->rule->says);
    fputs(t->rule->lower_is_better ? "; less is better" : "; more is better", out);
    if (*t->device) {
        fputs(". Device: ", out);
        board_write_name(out, t->device);
    }
    if (t->rule->unit == RULE_SECONDS && t->drift > 0)
        fprintf(out,
                ". Between grades the baseline’s time drifted by ±%.1f %%, which the intervals "
                "have in them",
                t->drift * 100);
    fputs(".", out);
    if (t->n > t->accepted)
        fprintf(out, " %zu more %s not accepted.", t->n - t->accepted,
                t->n - t->accepted == 1 ? "is" : "are");
    if (isfinite(t->ranking.tau.tau)) {
        fputs(" Kendall’s τ ", out);
        html_text(out, board_tau(&t->ranking.tau).text);
        fputs(".", out);
    }
    fputs("</p>\n", out);
}

static int write_table(FILE *out, struct board *b, size_t at, bool open, kgrade_error *err)
{
    const struct board_table *t = &b->tables[at];
    cleanup_free const struct board_entry **ranked = calloc(t->n + 1, sizeof *ranked);
    if (!ranked)
        return board_no_memory(err);
    size_t n = sort_ranked(b, t, ranked);
    fprintf(out, "<details class=\"table\" id=\"t%zu\"%s><summary>", at,
            open ? " open=\"open\"" : "");
    board_write_table_name(out, t);
    fputs(" <span class=\"dim\">", out);
    board_write_count(out, t->n, "entry", "entries");
    fputs("</span></summary>\n", out);
    write_about(out, t);
    write_ranked(out, b, t, ranked, n);
    int status = strips_write(out, b, ranked, n, err);
    fputs("</details>\n", out);
    return status;
}

int board_details(FILE *out, struct board *b, kgrade_error *err)
{
    size_t written = 0, graded = 0;
    for (size_t i = 0; i < b->n_tables; i++)
        graded += b->tables[i].n > 0;
    for (size_t i = 0; i < b->n_tables && written < BOARD_MAX_TABLES; i++) {
        if (!b->tables[i].n)
            continue;
        if (written++ == 0)
            fputs("<section>\n<h2>In detail</h2>\n", out);
        if (write_table(out, b, i, graded <= 3, err))
            return -1;
    }
    if (graded > written)
        fprintf(out, "<p class=\"note\">%zu more boards are in results.csv.</p>\n",
                graded - written);
    if (written)
        fputs("</section>\n", out);
    return 0;
}
