/* Winners whose lead is gone, and what was wrong or gamed. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "page.h"

static bool has_several_tables(const struct board *b)
{
    return b->n_tables > 1;
}

static void write_where(FILE *out, const struct board *b, const struct board_entry *e)
{
    if (!has_several_tables(b))
        return;
    fputs(" <span class=\"dim\">", out);
    board_write_table_name(out, &b->tables[e->table]);
    fputs("</span>", out);
}

/* --- leads that are gone --- */

static void write_head(FILE *out, const char *left, const char *right)
{
    fputs("<thead><tr><th></th><th scope=\"col\">", out);
    board_write_name(out, left);
    fputs("</th><th scope=\"col\">", out);
    board_write_name(out, right);
    fputs("</th></tr></thead>\n", out);
}

static void write_line(FILE *out, const char *what, const char *left, const char *right)
{
    fprintf(out, "<tr><th scope=\"row\" class=\"left\">%s</th><td>", what);
    html_text(out, left);
    fputs("</td><td>", out);
    html_text(out, right);
    fputs("</td></tr>\n", out);
}

static struct text_short rank(unsigned rank)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%u", rank);
    return s;
}

static void write_gain(FILE *out, const struct board *b, const struct board_entry *e)
{
    const struct board_table *t = &b->tables[e->table];
    const struct board_entry *other = &b->entries[t->first + e->ranked.over_nearest];
    fputs("<li><p><b>", out);
    board_write_name(out, e->label);
    fputs("</b>", out);
    write_where(out, b, e);
    fputs(" was ahead of <b>", out);
    board_write_name(out, other->label);
    fputs("</b>", out);
    if (e->ranked.over > 1)
        fprintf(out, " and %u more like it", e->ranked.over - 1);
    fputs(".</p>\n<table class=\"gain\">\n", out);
    write_head(out, e->label, other->label);
    fputs("<tbody>\n", out);
    write_line(out, "rank then", rank(e->ranked.old_rank).text, rank(other->ranked.old_rank).text);
    write_line(out, "rank now", rank(e->ranked.new_rank).text, rank(other->ranked.new_rank).text);
    if (!t->by_rank)
        write_line(out, "old board", board_old_figure(e).text, board_old_figure(other).text);
    if (t->rule->unit != RULE_SECONDS)
        write_line(out, "regraded", board_figure(t->rule->unit, e->ranked.now.value).text,
                   board_figure(t->rule->unit, other->ranked.now.value).text);
    write_line(out, "on the device", text_time(e->device_ns).text,
               text_time(other->device_ns).text);
    write_line(out, "host overhead", text_time(e->host_ns).text, text_time(other->host_ns).text);
    fputs("</tbody></table></li>\n", out);
}

static int compare_gains(const void *a, const void *b)
{
    const struct board_entry *x = *(const struct board_entry *const *)a;
    const struct board_entry *y = *(const struct board_entry *const *)b;
    if (x->ranked.old_rank != y->ranked.old_rank)
        return x->ranked.old_rank < y->ranked.old_rank ? -1 : 1;
    return (x > y) - (x < y);
}

static void write_gains(FILE *out, const struct board *b, enum ranking_gain gain,
                        const char *heading, const char *words)
{
    size_t n = 0;
    cleanup_free const struct board_entry **list = calloc(b->n_tabled + 1, sizeof *list);
    if (!list) {
        fputs("<p class=\"note\">No memory for a list of leads.</p>\n", out);
        return;
    }
    for (size_t i = 0; i < b->n_tabled; i++)
        if (b->entries[i].ranked.gain == gain)
            list[n++] = &b->entries[i];
    if (n == 0)
        return;
    qsort(list, n, sizeof *list, compare_gains);
    fprintf(out, "<section>\n<h2>%s</h2>\n<p class=\"lead\">%s</p>\n<ol class=\"gains\">\n",
            heading, words);
    for (size_t i = 0; i < n && i < BOARD_MAX_LISTED; i++) {
        if (i == BOARD_MAX_GAINS)
            fprintf(out, "</ol>\n<details><summary>%zu more</summary>\n<ol class=\"gains\">\n",
                    n - i);
        write_gain(out, b, list[i]);
    }
    fputs("</ol>\n", out);
    if (n > BOARD_MAX_LISTED)
        fprintf(out, "<p class=\"note\">The first %u of %zu.</p>\n", BOARD_MAX_LISTED, n);
    fputs(n > BOARD_MAX_GAINS ? "</details>\n</section>\n" : "</section>\n", out);
}

void board_gains(FILE *out, const struct board *b)
{
    char words[640];
    snprintf(words, sizeof words,
             "Each was ahead of another entry by more than %.0f %% on the old board (by a rank, "
             "where it told ranks only). On the device it is not: the two are tied within noise, "
             "or the other is ahead. And the other’s launch path costs at least %.0f %% more, and "
             "where the board told times a tenth of the lead, which the old clock may have taken "
             "for the kernel’s time. Looked at are the first %u of each board.",
             RANKING_LEAD * 100, RANKING_LEAD * 100, RANKING_WINNERS);
    write_gains(out, b, RANKING_GAIN_LAUNCH, "Leads that were launch path only", words);
    snprintf(words, sizeof words,
             "Each was ahead of another entry by more than %.0f %% on the old board (by a rank, "
             "where it told ranks only) and is not on "
             "the device, but host overhead does not explain it: other hardware, another clock, "
             "caches that were warm or inputs that repeated may.",
             RANKING_LEAD * 100);
    write_gains(out, b, RANKING_GAIN_GONE, "Leads that are gone for another reason", words);
}

/* --- not accepted --- */

struct code {
    const char *verdict, *reason;
    size_t n, counted;
};

static bool is_wrong_or_gamed(const char *verdict)
{
    return !strcmp(verdict, "wrong_answer") || !strcmp(verdict, "suspect") ||
           !strcmp(verdict, "refused");
}

static const char *words_for(const char *verdict)
{
    static const char *const words[][2] = {
        {"wrong_answer", "its output is not the task’s"},
        {"suspect", "faster than the device can be, or the clocks disagree about it"},
        {"refused", "its call does what no replay can repeat, such as work that it hides from the "
                    "stream"},
        {"build_failed", "it does not compile here"},
        {"runtime_error", "it crashes"},
        {"timeout", "it takes too long"},
        {"unresolved", "its time is too noisy to be told"},
        {"infrastructure_error", "a fault of the machine, not of the entry"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(verdict, words[i][0]))
            return words[i][1];
    return NULL;
}

static int compare_codes(const void *a, const void *b)
{
    const struct code *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    int order = strcmp(x->verdict, y->verdict);
    return order ? order : strcmp(x->reason, y->reason);
}

static bool is_of(const struct board_entry *e, const struct code *c)
{
    return e->state == REGRADE_GRADED && !e->accepted &&
           !strcmp(e->verdict ? e->verdict : "?", c->verdict) &&
           !strcmp(e->reason ? e->reason : "?", c->reason);
}

static size_t find_codes(const struct board *b, bool gamed, struct code ret[BOARD_MAX_CODES],
                         size_t *ret_beyond)
{
    size_t n = 0;
    *ret_beyond = 0;
    for (size_t i = 0; i < b->n_tabled; i++) {
        const struct board_entry *e = &b->entries[i];
        struct code c = {e->verdict ? e->verdict : "?", e->reason ? e->reason : "?", 0, 0};
        if (e->accepted || is_wrong_or_gamed(c.verdict) != gamed)
            continue;
        size_t k = 0;
        while (k < n && !is_of(e, &ret[k]))
            k++;
        if (k == BOARD_MAX_CODES) {
            ++*ret_beyond;
            continue;
        }
        if (k == n)
            ret[n++] = c;
        ret[k].n++;
        ret[k].counted += e->counted;
    }
    qsort(ret, n, sizeof *ret, compare_codes);
    return n;
}

static void write_entries(FILE *out, const struct board *b, const struct code *c)
{
    size_t n = 0;
    fputs("<ul class=\"names\">", out);
    for (size_t i = 0; i < b->n_tabled && n < BOARD_MAX_LISTED; i++) {
        const struct board_entry *e = &b->entries[i];
        if (!is_of(e, c))
            continue;
        n++;
        fputs("<li>", out);
        board_write_name(out, e->label);
        if (e->ranked.old_rank)
            fprintf(out, " <span class=\"dim\">was %u</span>", e->ranked.old_rank);
        write_where(out, b, e);
        fputs("</li>", out);
    }
    fputs("</ul>", out);
    if (c->n > n)
        fprintf(out, "<p class=\"note\">and %zu more</p>", c->n - n);
}

static void write_code(FILE *out, const struct board *b, const struct code *c)
{
    fputs("<details class=\"code\"><summary><b>", out);
    fprintf(out, "%zu</b> <code>", c->n);
    board_write_name(out, c->reason);
    fputs("</code> ", out);
    html_text(out, board_verdict(c->verdict).text);
    const char *words = words_for(c->verdict);
    if (words)
        fprintf(out, ": %s", words);
    if (c->counted)
        fprintf(out, "<span class=\"dim\"> · %zu counted on the old board</span>", c->counted);
    fputs("</summary>", out);
    write_entries(out, b, c);
    fputs("</details>\n", out);
}

static void write_codes(FILE *out, const struct board *b, bool gamed, const char *heading)
{
    struct code codes[BOARD_MAX_CODES] = {0};
    size_t beyond, n = find_codes(b, gamed, codes, &beyond);
    if (n == 0)
        return;
    fprintf(out, "<section>\n<h2>%s</h2>\n", heading);
    for (size_t i = 0; i < n; i++)
        write_code(out, b, &codes[i]);
    if (beyond)
        fprintf(out, "<p class=\"note\">%zu more have other codes.</p>\n", beyond);
    fputs("</section>\n", out);
}

void board_rejected(FILE *out, const struct board *b)
{
    write_codes(out, b, true, "Wrong or gamed");
    write_codes(out, b, false, "Without a figure for another reason");
}
