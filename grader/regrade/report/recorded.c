/*
 * What stood on boards that rank who entered, by their own rules over all of their problems, whether they can be graded here
 * or not.  AgentKernelArena has two rules; both are told.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "../../measure/statistics.h"
#include "page.h"

/* Of one author, made of the entry that counts of each problem. */
struct record {
    const char *author;
    size_t problems;
    struct rule_run run;
    double value; /* sum of the figures as they stood there */
    size_t valued;
    double score[2];               /* sums by both rules of the arena */
    size_t scored[2], without[2];  /* entries with such a score; of those without a speedup */
    struct rule_arena_stats stats; /* of the speedups by the rule of main */
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t find_problems(const struct board_entry *const *entries, size_t n, const char **ret)
{
    size_t once = 0;
    for (size_t i = 0; i < n; i++)
        ret[i] = entries[i]->problem;
    qsort(ret, n, sizeof *ret, compare_words);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(ret[i], ret[once - 1]))
            ret[once++] = ret[i];
    return once;
}

/* Where the board tells times of its baseline at all, what has none leaves the count. */
static bool tells_baselines(const struct board_entry *const *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i]->has_baseline)
            return true;
    return false;
}

/* Tasks alone, without anybody's runs, are no record. */
static bool tells_figures(const struct board_entry *const *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(entries[i]->value) || entries[i]->passed ||
            isfinite(entries[i]->arena_score[0]))
            return true;
    return false;
}

static void add_entry(const struct board_entry *e, struct record *r, double *speedups, size_t *n)
{
    r->problems++;
    if (isfinite(e->value)) {
        r->value += e->value;
        r->valued++;
    }
    for (int k = 0; k < 2; k++) {
        if (!isfinite(e->arena_score[k]))
            continue;
        r->score[k] += e->arena_score[k];
        r->scored[k]++;
        r->without[k] += isfinite(e->arena_speedup[k]) && e->arena_speedup[k] <= 0;
    }
    if (e->arena_speedup[0] > 0)
        speedups[(*n)++] = e->arena_speedup[0];
}

/* entries: the author's, by problem and id. */
static int make_record(const struct board_entry *const *entries, size_t n,
                       const char *const *problems, size_t n_problems, const struct rule *rule,
                       bool baselines, struct record *ret)
{
    cleanup_free struct rule_problem *all = calloc(n_problems + 1, sizeof *all);
    cleanup_free double *speedups = calloc(n + 1, sizeof *speedups);
    if (!all || !speedups)
        return -1;
    *ret = (struct record){.author = board_author(entries[0])};
    size_t at = 0, timed = 0;
    for (size_t i = 0; i < n_problems; i++) {
        const struct board_entry *e = board_pick(entries, n, problems[i], rule, &at);
        all[i] = (struct rule_problem){true, false, rule_none()};
        if (!e)
            continue;
        all[i] = (struct rule_problem){!baselines || e->has_baseline, e->passed,
                                       rule_exactly(e->old_speedup)};
        add_entry(e, ret, speedups, &timed);
    }
    rule_kernelbench(all, n_problems, &ret->run);
    statistics_sort(speedups, timed);
    rule_arena_stats(speedups, timed, &ret->stats);
    return 0;
}

/* --- writing --- */

#define MAX_COLUMNS 16

/* A column of the table: the same ones for every record of a board. */
struct column {
    struct text_short name, text;
};

struct columns {
    struct column list[MAX_COLUMNS];
    size_t n;
};

static void add(struct columns *c, struct text_short text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct columns *c, struct text_short text, const char *format, ...)
{
    if (c->n == MAX_COLUMNS)
        return;
    struct column *column = &c->list[c->n++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(column->name.text, sizeof column->name.text, format, arguments);
    va_end(arguments);
    column->text = text;
}

static struct text_short decimals(int n, double value)
{
    struct text_short s = {"–"};
    if (isfinite(value))
        snprintf(s.text, sizeof s.text, "%.*f", n, value);
    return s;
}

static struct text_short number(size_t n)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%zu", n);
    return s;
}

static void add_fast_p(struct columns *c, const struct record *r)
{
    add(c, number(r->run.n), "problems");
    add(c, number(r->run.right), "right");
    add(c, number(r->run.untimed), "never timed");
    for (size_t k = 0; k < RULE_FAST_P; k++)
        add(c, decimals(3, r->run.fast[k].value), "fast at %.3g", rule_fast_p[k]);
    add(c, board_figure(RULE_SPEEDUP, r->run.geometric_mean.value), "mean speedup");
}

static void add_arena(struct columns *c, const struct record *r)
{
    add(c, number(r->problems), "tasks");
    add(c, decimals(1, r->valued ? r->value : NAN), "total as recorded");
    add(c, decimals(1, r->scored[0] ? r->score[0] : NAN), "by main’s rule");
    add(c, decimals(1, r->scored[1] ? r->score[1] : NAN), "by #77’s rule");
    add(c, number(r->without[0]), "no speedup by main’s");
    add(c, number(r->without[1]), "by #77’s");
    bool any = r->stats.mean > 0;
    add(c, decimals(3, any ? r->stats.mean : NAN), "mean speedup");
    add(c, decimals(3, any ? r->stats.median : NAN), "median");
    add(c, decimals(3, any ? r->stats.p25 : NAN), "p25");
    add(c, decimals(3, any ? r->stats.p75 : NAN), "p75");
    add(c, decimals(3, any ? r->stats.p90 : NAN), "p90");
}

static void set_columns(struct columns *c, const struct record *r, const struct rule *rule)
{
    c->n = 0;
    if (rule->unit == RULE_SCORE) {
        add_arena(c, r);
    } else if (rule->form == RULE_GEOMETRIC) {
        add_fast_p(c, r);
    } else {
        add(c, number(r->problems), "problems");
        add(c, number(r->valued), "with a figure");
        add(c, board_figure(RULE_SPEEDUP, r->value / (double)r->problems), "mean");
    }
}

static void write_row(FILE *out, const struct record *r, const struct columns *c)
{
    fputs("<tr><td class=\"left\">", out);
    board_write_name(out, r->author);
    fputs("</td>", out);
    for (size_t i = 0; i < c->n; i++) {
        fputs("<td data-label=\"", out);
        html_text(out, c->list[i].name.text);
        fputs("\">", out);
        html_text(out, c->list[i].text.text);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct board_table *t, const struct record *records,
                        size_t n)
{
    struct columns c;
    fputs("<h3>", out);
    board_write_name(out, t->board);
    fputs("</h3>\n<div class=\"wide\"><table class=\"cases runs\">\n<thead><tr><th scope=\"col\" "
          "class=\"left\">who</th>",
          out);
    set_columns(&c, &records[0], t->rule);
    for (size_t i = 0; i < c.n; i++)
        html_element(out, "th", NULL, c.list[i].name.text);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < n && i < BOARD_MAX_LISTED; i++) {
        set_columns(&c, &records[i], t->rule);
        write_row(out, &records[i], &c);
    }
    fputs("</tbody></table></div>\n", out);
    if (t->rule->unit == RULE_SCORE)
        fputs("<p class=\"note\">Both rules over the recorded times of single cases, where there "
              "are such. By #77’s there is no speedup where the two sides of a case were not timed "
              "by one method, or nobody said by which.</p>\n",
              out);
    if (n > BOARD_MAX_LISTED)
        fprintf(out, "<p class=\"note\">The first %u of %zu.</p>\n", BOARD_MAX_LISTED, n);
}

static int write_board(FILE *out, const struct board_table *t,
                       const struct board_entry *const *entries, size_t n)
{
    cleanup_free const char **problems = calloc(n + 1, sizeof *problems);
    cleanup_free struct record *records = calloc(n + 1, sizeof *records);
    if (!problems || !records)
        return -1;
    size_t n_problems = find_problems(entries, n, problems), k = 0;
    bool baselines = tells_baselines(entries, n);
    for (size_t from = 0; from < n; k++) {
        size_t end = from;
        while (end < n && !strcmp(board_author(entries[end]), board_author(entries[from])))
            end++;
        if (make_record(entries + from, end - from, problems, n_problems, t->rule, baselines,
                        &records[k]))
            return -1;
        from = end;
    }
    write_table(out, t, records, k);
    return 0;
}

int board_recorded(FILE *out, const struct board *b)
{
    bool opened = false;
    cleanup_free const struct board_entry **entries = calloc(b->n_entries + 1, sizeof *entries);
    if (!entries)
        return -1;
    for (size_t at = 0; at < b->n_tables; at++) {
        if (!board_stands_for_runs(b, at))
            continue;
        size_t n = board_collect(b, &b->tables[at], entries);
        if (!tells_figures(entries, n))
            continue;
        if (!opened)
            fputs("<section>\n<h2>As recorded</h2>\n<p class=\"lead\">What stood on the board, by "
                  "its own rule over all of its problems, whether they can be graded here or "
                  "not. Nothing in this section was measured again.</p>\n",
                  out);
        opened = true;
        if (write_board(out, &b->tables[at], entries, n))
            return -1;
    }
    if (opened)
        fputs("</section>\n", out);
    return 0;
}
