/*
 * Boards that rank who entered by what is made of all problems, not single candidates: the same rule over the old figures and over
 * ours, for each author.
 *
 * Only problems that somebody's candidate was graded on count, and of them only those on which the author's own was graded or
 * is missing: what kgrade cannot grade is nobody's failure.  What an author never entered is one, as on the boards.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "page.h"

#define THE_P 3 /* of rule_fast_p, where the board does not say: 1 */

struct run {
    const char *author;
    size_t problems;
    struct rule_run old_run, new_run; /* of fast_p */
    double old_sum;                   /* of the others: figures of all problems */
    struct rule_span new_sum;
    struct ranking_entry ranked;
};

const char *board_author(const struct board_entry *e)
{
    return e->author ? e->author : "?";
}

static int compare_entries(const void *a, const void *b)
{
    const struct board_entry *x = *(const struct board_entry *const *)a;
    const struct board_entry *y = *(const struct board_entry *const *)b;
    int order = strcmp(board_author(x), board_author(y));
    if (!order)
        order = strcmp(x->problem, y->problem);
    return order ? order : strcmp(x->id, y->id);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_told(const struct board_entry *e)
{
    return e->state == REGRADE_GRADED &&
           !(e->verdict && !strcmp(e->verdict, "infrastructure_error"));
}

/* Names once each of the problems that were graded. */
static size_t find_problems(const struct board_entry *const *entries, size_t n, const char **ret)
{
    size_t k = 0, once = 0;
    for (size_t i = 0; i < n; i++)
        if (is_told(entries[i]))
            ret[k++] = entries[i]->problem;
    qsort(ret, k, sizeof *ret, compare_words);
    for (size_t i = 0; i < k; i++)
        if (i == 0 || strcmp(ret[i], ret[once - 1]))
            ret[once++] = ret[i];
    return once;
}

static double points_of(const struct board_entry *e)
{
    return e->verdict && !strcmp(e->verdict, "build_failed") ? 0 : 20;
}

/* Adds the author's candidate of a problem; NULL: there is none. */
static void add_problem(const struct board_entry *e, const struct rule *rule, struct run *run,
                        struct rule_problem *old, struct rule_problem *now)
{
    *old = *now = (struct rule_problem){.has_baseline = true, .speedup = rule_none()};
    run->problems++;
    if (!e)
        return;
    *old = (struct rule_problem){true, e->passed || e->counted, rule_exactly(e->old_speedup)};
    *now = (struct rule_problem){true, e->accepted, e->ranked.now};
    run->old_sum += isfinite(e->value) ? e->value : 0;
    struct rule_span add = e->ranked.now;
    if (!rule_is_some(&add))
        add = rule_exactly(rule->unit == RULE_SCORE ? points_of(e) : 0);
    run->new_sum.value += add.value;
    run->new_sum.low += add.low;
    run->new_sum.high += add.high;
}

/* entries: the author's, by problem. */
static int make_run(const struct board_entry *const *entries, size_t n, const char *const *problems,
                    size_t n_problems, const struct rule *rule, struct run *ret)
{
    cleanup_free struct rule_problem *old = calloc(n_problems + 1, sizeof *old);
    cleanup_free struct rule_problem *now = calloc(n_problems + 1, sizeof *now);
    if (!old || !now)
        return -1;
    *ret = (struct run){.author = board_author(entries[0])};
    size_t at = 0;
    for (size_t i = 0; i < n_problems; i++) {
        const struct board_entry *e = board_pick(entries, n, problems[i], rule, &at);
        if (!e || is_told(e))
            add_problem(e, rule, ret, &old[ret->problems], &now[ret->problems]);
    }
    rule_kernelbench(old, ret->problems, &ret->old_run);
    rule_kernelbench(now, ret->problems, &ret->new_run);
    return 0;
}

static size_t p_of(const struct board_source *source)
{
    for (size_t k = 0; k < RULE_FAST_P; k++)
        if (fabs(rule_fast_p[k] - source->p) < 1e-9)
            return k;
    return THE_P;
}

/* --- writing --- */

static bool is_fast_p(const struct rule *rule)
{
    return rule->unit == RULE_SPEEDUP && rule->form == RULE_GEOMETRIC;
}

static void heading(FILE *out, const char *text)
{
    fputs("<th scope=\"col\">", out);
    html_text(out, text);
    fputs("</th>", out);
}

static void write_change(FILE *out, const char *label, const char *old, const char *now)
{
    fputs("<td data-label=\"", out);
    html_text(out, label);
    fputs("\">", out);
    html_text(out, old);
    fputs(" → <b>", out);
    html_text(out, now);
    fputs("</b></td>", out);
}

static struct text_short share(double value)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%.3f", value);
    return s;
}

static struct text_short fast_name(size_t k)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "fast at %.3g", rule_fast_p[k]);
    return s;
}

static void write_fast(FILE *out, const struct run *r)
{
    struct text_short old, now;
    snprintf(old.text, sizeof old.text, "%zu", r->old_run.right);
    snprintf(now.text, sizeof now.text, "%zu", r->new_run.right);
    write_change(out, "right", old.text, now.text);
    for (size_t k = 0; k < RULE_FAST_P; k++)
        write_change(out, fast_name(k).text, share(r->old_run.fast[k].value).text,
                     share(r->new_run.fast[k].value).text);
    write_change(out, "mean speedup",
                 board_figure(RULE_SPEEDUP, r->old_run.geometric_mean.value).text,
                 board_figure(RULE_SPEEDUP, r->new_run.geometric_mean.value).text);
}

static void write_run(FILE *out, const struct run *r, const struct rule *rule)
{
    fputs("<tr><td class=\"left\">", out);
    board_write_name(out, r->author);
    fputs("</td>", out);
    struct text_short old, now;
    snprintf(old.text, sizeof old.text, "%u", r->ranked.old_rank);
    snprintf(now.text, sizeof now.text, "%u", r->ranked.new_rank);
    write_change(out, "rank", old.text, now.text);
    fprintf(out, "<td data-label=\"problems\">%zu</td>", r->problems);
    if (is_fast_p(rule)) {
        write_fast(out, r);
    } else {
        double n = r->problems ? (double)r->problems : NAN;
        if (rule->unit == RULE_SCORE)
            write_change(out, "total", board_figure(rule->unit, r->old_sum).text,
                         board_figure(rule->unit, r->new_sum.value).text);
        write_change(out, "mean", board_figure(rule->unit, r->old_sum / n).text,
                     board_figure(rule->unit, r->new_sum.value / n).text);
    }
    fputs("</tr>\n", out);
}

/* Best rank first, and of those that share one the better figure. */
static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->ranked.new_rank != y->ranked.new_rank)
        return x->ranked.new_rank < y->ranked.new_rank ? -1 : 1;
    if (x->ranked.now.value != y->ranked.now.value)
        return x->ranked.now.value > y->ranked.now.value ? -1 : 1;
    return strcmp(x->author, y->author);
}

static void write_runs(FILE *out, const struct board_source *source, const char *board,
                       const struct rule *rule, const struct run *runs, size_t n)
{
    fputs("<h3>", out);
    board_write_name(out, board);
    fputs("</h3>\n<div class=\"wide\"><table class=\"cases runs\">\n<thead><tr><th scope=\"col\" "
          "class=\"left\">who</th>",
          out);
    heading(out, "rank");
    heading(out, "problems");
    if (is_fast_p(rule)) {
        heading(out, "right");
        for (size_t k = 0; k < RULE_FAST_P; k++)
            heading(out, fast_name(k).text);
        heading(out, "mean speedup");
    } else {
        if (rule->unit == RULE_SCORE)
            heading(out, "total");
        heading(out, "mean");
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < n && i < BOARD_MAX_LISTED; i++)
        write_run(out, &runs[i], rule);
    fputs("</tbody></table></div>\n<p class=\"note\">", out);
    if (is_fast_p(rule))
        fprintf(out,
                "Ranked by the share of problems that are right and faster than %.3g times the "
                "reference. ",
                rule_fast_p[p_of(source)]);
    fputs("Both figures are over the problems that could be graded here; the new ranks are within "
          "noise.</p>\n",
          out);
    if (n > BOARD_MAX_LISTED)
        fprintf(out, "<p class=\"note\">The first %u of %zu.</p>\n", BOARD_MAX_LISTED, n);
}

static int rank_runs(struct run *runs, size_t n, const struct board_source *source,
                     const struct rule *rule)
{
    cleanup_free struct ranking_entry *ranked = calloc(n + 1, sizeof *ranked);
    if (!ranked)
        return -1;
    size_t k = p_of(source);
    for (size_t i = 0; i < n; i++) {
        struct rule_span mean = runs[i].new_sum;
        double problems = (double)runs[i].problems;
        if (rule->unit != RULE_SCORE)
            mean = (struct rule_span){mean.value / problems, mean.low / problems,
                                      mean.high / problems};
        ranked[i].host_ns = NAN;
        ranked[i].now = is_fast_p(rule) ? runs[i].new_run.fast[k] : mean;
        ranked[i].old_figure = is_fast_p(rule)            ? runs[i].old_run.fast[k].value
                               : rule->unit == RULE_SCORE ? runs[i].old_sum
                                                          : runs[i].old_sum / problems;
    }
    struct ranking ranking;
    if (ranking_make(ranked, n, false, false, &ranking))
        return -1;
    for (size_t i = 0; i < n; i++)
        runs[i].ranked = ranked[i];
    qsort(runs, n, sizeof *runs, compare_runs);
    return 0;
}

/* entries: of one board, by author and problem. */
static int write_board(FILE *out, const struct board *b, const struct board_table *t,
                       const struct board_entry *const *entries, size_t n, bool *opened)
{
    const struct board_source *source = &b->sources[t->source];
    cleanup_free const char **problems = calloc(n + 1, sizeof *problems);
    cleanup_free struct run *runs = calloc(n + 1, sizeof *runs);
    if (!problems || !runs)
        return -1;
    size_t n_problems = find_problems(entries, n, problems), k = 0;
    if (n_problems < 2)
        return 0;
    for (size_t from = 0; from < n;) {
        size_t end = from;
        while (end < n && !strcmp(board_author(entries[end]), board_author(entries[from])))
            end++;
        if (make_run(entries + from, end - from, problems, n_problems, t->rule, &runs[k]))
            return -1;
        k += runs[k].problems > 0;
        from = end;
    }
    if (rank_runs(runs, k, source, t->rule))
        return -1;
    if (!*opened)
        fputs("<section>\n<h2>Over all problems</h2>\n", out);
    *opened = true;
    write_runs(out, source, t->board, t->rule, runs, k);
    return 0;
}

const struct board_entry *board_pick(const struct board_entry *const *entries, size_t n,
                                     const char *problem, const struct rule *rule, size_t *at)
{
    const struct board_entry *best = NULL;
    while (*at < n && strcmp(entries[*at]->problem, problem) < 0)
        ++*at;
    for (; *at < n && !strcmp(entries[*at]->problem, problem); ++*at) {
        const struct board_entry *e = entries[*at];
        if (!best || (!is_fast_p(rule) && (e->value > best->value || isnan(best->value))))
            best = e;
    }
    return best;
}

bool board_stands_for_runs(const struct board *b, size_t at)
{
    const struct board_table *t = &b->tables[at];
    for (size_t i = 0; i < at; i++)
        if (b->tables[i].source == t->source && !strcmp(b->tables[i].board, t->board))
            return false;
    return t->rule->over_problems;
}

size_t board_collect(const struct board *b, const struct board_table *t,
                     const struct board_entry **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_entries; i++) {
        const struct board_table *its = &b->tables[b->entries[i].table];
        if (its->source == t->source && !strcmp(its->board, t->board))
            ret[n++] = &b->entries[i];
    }
    qsort(ret, n, sizeof *ret, compare_entries);
    return n;
}

int board_runs(FILE *out, const struct board *b)
{
    bool opened = false;
    cleanup_free const struct board_entry **entries = calloc(b->n_entries + 1, sizeof *entries);
    if (!entries)
        return -1;
    for (size_t at = 0; at < b->n_tables; at++) {
        if (!board_stands_for_runs(b, at))
            continue;
        size_t n = board_collect(b, &b->tables[at], entries);
        if (write_board(out, b, &b->tables[at], entries, n, &opened))
            return -1;
    }
    if (opened)
        fputs("</section>\n", out);
    return 0;
}
