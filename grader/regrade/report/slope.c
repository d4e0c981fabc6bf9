/* Old place and new place of each entry, with a line between them. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/report/html.h"
#include "../../cli/report/plot.h"
#include "page.h"

#define ROW 25.0
#define TOP 30.0
#define LEFT 37.0 /* percent: where the old places are, and the new ones */
#define RIGHT 63.0
#define GAP 10                       /* pixels between a mark and its words */
#define BROAD 23                     /* letters of a name where there is room */
#define NARROW 9                     /* and on a telephone */
#define WHY 13                       /* of a reason, on a telephone */
#define LIFTED (BOARD_MAX_SLOPE / 5) /* new winners that are drawn whatever they were before */

enum fate { KEPT, ROSE, FELL, LAUNCH, OUT, FRESH, FATES };

static const char *const fate_class[] = {
    [KEPT] = "kept",     [ROSE] = "rose", [FELL] = "fell",
    [LAUNCH] = "launch", [OUT] = "out",   [FRESH] = "fresh",
};

struct mark {
    const struct board_entry *entry;
    enum fate fate;
    size_t left, right; /* rows */
};

struct slope {
    struct mark *marks;
    size_t n;
    size_t rows, accepted; /* rows of the taller column; entries that are drawn and accepted */
    bool used[FATES];
};

static bool is_old(const struct board_entry *e)
{
    return e->ranked.old_rank != 0;
}

/* Best in the old order first; those that had no place there last, best new ones first. */
static int compare_old(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    unsigned xr = x->entry->ranked.old_rank - 1, yr = y->entry->ranked.old_rank - 1;
    if (xr != yr)
        return xr < yr ? -1 : 1;
    return strcmp(x->entry->label, y->entry->label);
}

/* Best in the new order first, those of a group as they were; what is not accepted last, as it was. */
static int compare_new(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    unsigned xr = x->entry->ranked.new_rank - 1, yr = y->entry->ranked.new_rank - 1;
    if (xr != yr)
        return xr < yr ? -1 : 1;
    return compare_old(a, b);
}

/* The place among those that both orders have moved up or down when it was not kept. */
static enum fate fate_of(const struct board_entry *e, size_t better_before, size_t better_now)
{
    if (!e->accepted || !e->ranked.new_rank)
        return OUT;
    if (!is_old(e))
        return FRESH;
    if (e->ranked.gain == RANKING_GAIN_LAUNCH)
        return LAUNCH;
    if (e->ranked.kept)
        return KEPT;
    return better_now < better_before ? ROSE : FELL;
}

static enum fate fate_in(const struct board_entry *entries, size_t n, const struct board_entry *e)
{
    size_t before = 0, now = 0;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].ranked.compared)
            continue;
        before += entries[i].ranked.old_rank < e->ranked.old_rank;
        now += entries[i].ranked.new_rank < e->ranked.new_rank;
    }
    return fate_of(e, before, now);
}

/* The first of the old order, and the first few of the new one. */
static int choose(const struct board *b, const struct board_table *t, struct slope *ret)
{
    const struct board_entry *entries = b->entries + t->first;
    struct mark *all = calloc(t->n + 1, sizeof *all);
    if (!all)
        return -1;
    for (size_t i = 0; i < t->n; i++)
        all[i].entry = &entries[i];
    qsort(all, t->n, sizeof *all, compare_old);
    size_t n = 0;
    while (n < t->n && n < BOARD_MAX_SLOPE && is_old(all[n].entry))
        n++;
    qsort(all + n, t->n - n, sizeof *all, compare_new);
    for (size_t lifted = 0; n < t->n && lifted < LIFTED; lifted++) {
        unsigned rank = all[n].entry->ranked.new_rank;
        if (!rank || rank > LIFTED)
            break;
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        all[i].fate = fate_in(entries, t->n, all[i].entry);
        ret->used[all[i].fate] = true;
        ret->accepted += all[i].fate != OUT;
    }
    ret->marks = all;
    ret->n = n;
    return 0;
}

/* What is not accepted stands below a gap, at the foot of the right column. */
static void set_rows(struct slope *s)
{
    qsort(s->marks, s->n, sizeof *s->marks, compare_new);
    for (size_t i = 0; i < s->n; i++)
        s->marks[i].right = i + (s->marks[i].fate == OUT && s->accepted ? 1 : 0);
    s->rows = s->n + (s->accepted && s->accepted < s->n ? 1 : 0);
    qsort(s->marks, s->n, sizeof *s->marks, compare_old);
    for (size_t i = 0; i < s->n; i++)
        s->marks[i].left = i;
}

static double y_of(size_t row)
{
    return TOP + ((double)row + 0.5) * ROW;
}

/* At most so many letters, and one more where that spares the ellipsis. */
static void write_cut(FILE *out, const char *name, size_t letters)
{
    html_text_cut(out, name, text_width(name) > letters + 1 ? letters : letters + 1);
}

/* Two texts beside a mark, of which the style sheet shows one: as much as there is room for. */
static void write_label(FILE *out, const char *of, bool left, size_t row, const char *rank,
                        const char *name, size_t letters)
{
    for (int narrow = 0; narrow < 2; narrow++) {
        fprintf(out, "<text class=\"%s %s\" text-anchor=\"%s\" x=\"%.0f%%\" dx=\"%d\" y=\"%.1f\">",
                of, narrow ? "narrow" : "broad", left ? "end" : "start", left ? LEFT : RIGHT,
                left ? -GAP : GAP, y_of(row) + 4.5);
        if (!left && *rank)
            fprintf(out, "<tspan class=\"rank\">%s</tspan> ", rank);
        write_cut(out, name, narrow ? letters : BROAD);
        if (left && *rank)
            fprintf(out, " <tspan class=\"rank\">%s</tspan>", rank);
        fputs("</text>", out);
    }
}

static bool is_tied(const struct slope *s, const struct mark *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (&s->marks[i] != m && s->marks[i].entry->ranked.group &&
            s->marks[i].entry->ranked.group == m->entry->ranked.group)
            return true;
    return false;
}

/* A band behind the marks of a group. */
static void draw_groups(FILE *out, const struct slope *s)
{
    for (size_t i = 0; i < s->n; i++) {
        size_t first = s->marks[i].right, last = first;
        for (size_t k = 0; k < s->n; k++) {
            const struct mark *m = &s->marks[k];
            if (!m->entry->ranked.group ||
                m->entry->ranked.group != s->marks[i].entry->ranked.group)
                continue;
            first = m->right < first ? m->right : first;
            last = m->right > last ? m->right : last;
        }
        if (first == s->marks[i].right && last > first)
            plot_line(out, "tie", RIGHT, y_of(first), RIGHT, y_of(last));
    }
}

static void draw_line(FILE *out, const struct mark *m)
{
    if (m->fate == FRESH)
        return;
    char of[32];
    snprintf(of, sizeof of, "slope %s", fate_class[m->fate]);
    fputs("<g>", out);
    plot_line(out, of, LEFT, y_of(m->left), RIGHT, y_of(m->right));
    fputs("<title>", out);
    board_write_name(out, m->entry->label);
    fprintf(out, ": %u", m->entry->ranked.old_rank);
    if (m->fate == OUT) {
        fputs(", now ", out);
        html_text(out, board_verdict(m->entry->verdict).text);
    } else {
        fprintf(out, ", now %u", m->entry->ranked.new_rank);
    }
    fputs("</title></g>\n", out);
}

static void draw_ends(FILE *out, const struct slope *s, const struct mark *m)
{
    char of[32], rank[32];
    if (is_old(m->entry)) {
        snprintf(of, sizeof of, "end %s", fate_class[m->fate]);
        plot_disc(out, of, LEFT, y_of(m->left));
        snprintf(rank, sizeof rank, "%u", m->entry->ranked.old_rank);
        write_label(out, "name", true, m->left, rank, m->entry->label, NARROW);
    }
    if (m->fate == OUT) {
        fprintf(out, "<svg class=\"mark\" x=\"%.1f%%\" y=\"%.1f\">", RIGHT, y_of(m->right));
        fputs("<path class=\"cross\" d=\"M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5\"/></svg>", out);
        const char *why = m->entry->reason ? m->entry->reason : m->entry->verdict;
        write_label(out, "name why", false, m->right, "", why ? why : "not accepted", WHY);
    } else {
        snprintf(of, sizeof of, "end %s", fate_class[m->fate]);
        plot_disc(out, of, RIGHT, y_of(m->right));
        snprintf(rank, sizeof rank, "%u%s", m->entry->ranked.new_rank, is_tied(s, m) ? "=" : "");
        write_label(out, "name", false, m->right, rank, m->entry->label, NARROW);
    }
    fputs("\n", out);
}

static void write_keys(FILE *out, const struct slope *s)
{
    static const char *const words[] = {
        [KEPT] = "keeps its place within noise",
        [ROSE] = "rises",
        [FELL] = "falls",
        [LAUNCH] = "its lead was the launch path’s",
        [OUT] = "not accepted",
        [FRESH] = "had no place before",
    };
    fputs("<p class=\"keys\">", out);
    for (int fate = KEPT; fate < FRESH; fate++)
        if (s->used[fate])
            fprintf(out,
                    "<span><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"26\" "
                    "height=\"14\" aria-hidden=\"true\"><line class=\"slope %s\" x1=\"2\" "
                    "y1=\"7\" x2=\"24\" y2=\"7\"/></svg>%s</span> ",
                    fate_class[fate], words[fate]);
    fputs("<span><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"key\" width=\"26\" "
          "height=\"14\" aria-hidden=\"true\"><line class=\"tie\" x1=\"7\" y1=\"7\" x2=\"19\" "
          "y2=\"7\"/></svg>tied within noise</span></p>\n",
          out);
}

static void write_left_out(FILE *out, const struct board_table *t, const struct slope *s)
{
    if (s->n == t->n)
        return;
    fprintf(out,
            "<p class=\"note\">Drawn are the first %u of the old board, and whoever is among the "
            "first %u now: %zu of %zu.</p>\n",
            BOARD_MAX_SLOPE, LIFTED, s->n, t->n);
}

static void draw(FILE *out, const struct board_table *t, struct slope *s)
{
    set_rows(s);
    fputs("<figure class=\"slopes\">\n", out);
    write_keys(out, s);
    char label[PLOT_MAX_LABEL];
    snprintf(label, sizeof label,
             "Old and new place of %zu entries; %zu of %zu keep theirs within noise", s->n,
             t->ranking.kept, t->ranking.compared);
    plot_open(out, (int)(TOP + (double)s->rows * ROW + 6), label);
    fprintf(out,
            "<text class=\"head\" text-anchor=\"end\" x=\"%.1f%%\" y=\"14\">old board</text>"
            "<text class=\"head\" x=\"%.1f%%\" y=\"14\">regraded</text>\n",
            LEFT, RIGHT);
    draw_groups(out, s);
    /* What matters most is drawn last. */
    static const enum fate order[] = {KEPT, FRESH, ROSE, FELL, OUT, LAUNCH};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < s->n; i++)
            if (s->marks[i].fate == order[k])
                draw_line(out, &s->marks[i]);
    for (size_t i = 0; i < s->n; i++)
        draw_ends(out, s, &s->marks[i]);
    plot_close(out);
    write_left_out(out, t, s);
    fputs("</figure>\n", out);
}

static void write_table(FILE *out, const struct board *b, const struct board_table *t, bool only)
{
    struct slope slope = {0};
    if (choose(b, t, &slope)) {
        fputs("<p class=\"note\">No memory to draw the places.</p>\n", out);
        return;
    }
    fputs("<div>\n", out);
    if (!only) {
        fputs("<h3>", out);
        board_write_table_name(out, t);
        fprintf(out, "</h3>\n<p class=\"note\">%zu of %zu keep their place", t->ranking.kept,
                t->ranking.compared);
        if (isfinite(t->ranking.tau.tau)) {
            fputs("; Kendall’s τ ", out);
            html_text(out, board_tau(&t->ranking.tau).text);
        }
        fputs(".</p>\n", out);
    }
    draw(out, t, &slope);
    fputs("</div>\n", out);
    free(slope.marks);
}

/* A table of one problem of several that a board ranks together says little alone. */
static bool is_wanted(const struct board *b, const struct board_table *t)
{
    if (t->ranking.compared < 2)
        return false;
    for (size_t i = 0; t->rule->over_problems && i < b->n_tables; i++) {
        const struct board_table *other = &b->tables[i];
        if (other->source == t->source && !strcmp(other->board, t->board) &&
            strcmp(other->problem, t->problem))
            return false;
    }
    return true;
}

/* The BOARD_MAX_SLOPES tables with the most entries to compare; *ret_n: how many there are to choose from. */
static void choose_tables(const struct board *b, size_t ret[BOARD_MAX_SLOPES], size_t *ret_n)
{
    size_t n = 0, chosen = 0;
    for (size_t i = 0; i < b->n_tables; i++) {
        if (!is_wanted(b, &b->tables[i]))
            continue;
        n++;
        size_t at = chosen < BOARD_MAX_SLOPES ? chosen++ : BOARD_MAX_SLOPES;
        size_t mine = b->tables[i].ranking.compared;
        if (at == BOARD_MAX_SLOPES && mine <= b->tables[ret[--at]].ranking.compared)
            continue;
        for (; at > 0 && b->tables[ret[at - 1]].ranking.compared < mine; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    *ret_n = n;
}

void board_places(FILE *out, const struct board *b)
{
    size_t tables[BOARD_MAX_SLOPES], n;
    choose_tables(b, tables, &n);
    if (n == 0)
        return;
    fputs("<section>\n<h2>Places, then and now</h2>\n<div class=\"places\">\n", out);
    for (size_t i = 0; i < n && i < BOARD_MAX_SLOPES; i++)
        write_table(out, b, &b->tables[tables[i]], n == 1);
    fputs("</div>\n", out);
    if (n > BOARD_MAX_SLOPES)
        fprintf(out,
                "<p class=\"note\">Drawn are the %u boards with the most entries, of %zu.</p>\n",
                BOARD_MAX_SLOPES, n);
    fputs("</section>\n", out);
}
