/* Entries in the order of their tables, labelled and ranked. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../measure/statistics.h"
#include "gather.h"

/* By table; what is not graded behind all tables; else as it was read. */
static int compare_entries(const void *a, const void *b)
{
    const struct board_entry *x = a, *y = b;
    bool xg = x->state == REGRADE_GRADED, yg = y->state == REGRADE_GRADED;
    if (xg != yg)
        return xg ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void find_entries(struct board *b)
{
    if (b->n_entries)
        qsort(b->entries, b->n_entries, sizeof *b->entries, compare_entries);
    for (size_t i = 0; i < b->n_entries; i++) {
        if (b->entries[i].state != REGRADE_GRADED)
            continue;
        b->n_tabled++;
        struct board_table *t = &b->tables[b->entries[i].table];
        if (!t->n++)
            t->first = i;
        t->accepted += b->entries[i].accepted;
    }
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_once(const char *const *words, size_t n, const char *word)
{
    const char **at = bsearch(&word, words, n, sizeof *words, compare_words);
    return at && (at == words || strcmp(at[-1], word)) &&
           (at == words + n - 1 || strcmp(at[1], word));
}

/* Labels the entries by their authors where those are their own, else by their files, else by their ids. */
static int label_entries(struct board_entry *entries, size_t n)
{
    cleanup_free const char **words = calloc(n + 1, sizeof *words);
    if (!words)
        return -1;
    for (int round = 0; round < 2; round++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            const char *word = round == 0 ? entries[i].author : entries[i].files;
            if (word && *word)
                words[k++] = word;
        }
        if (k == 0)
            continue;
        qsort(words, k, sizeof *words, compare_words);
        for (size_t i = 0; i < n; i++) {
            const char *word = round == 0 ? entries[i].author : entries[i].files;
            if (!entries[i].label && word && *word && is_once(words, k, word))
                entries[i].label = word;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!entries[i].label)
            entries[i].label = entries[i].id;
    return 0;
}

/* How much the baseline's time differs from grade to grade: the card's clock and temperature, which the candidate's time
 * has in it as well.  Half the spread of the middle 80 %, relative, of the case where it is largest. */
static int find_drift(const struct board_entry *entries, size_t n, double *ret)
{
    *ret = 0;
    cleanup_free double *times = calloc(n + 1, sizeof *times);
    if (!times)
        return -1;
    for (size_t c = 0;; c++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (entries[i].accepted && c < entries[i].n_cases &&
                isfinite(entries[i].cases[c].baseline_ns))
                times[k++] = entries[i].cases[c].baseline_ns;
        if (k < BOARD_MIN_DRIFT)
            return 0;
        statistics_sort(times, k);
        *ret = fmax(*ret, statistics_spread(times, k));
    }
}

static struct rule_span figure_of(const struct board_entry *e, const struct rule *rule,
                                  double drift, struct rule_case *room)
{
    for (size_t i = 0; i < e->n_cases; i++) {
        room[i] = e->cases[i].figures;
        room[i].seconds.low *= 1 - fmin(drift, 0.99);
        room[i].seconds.high *= 1 + drift;
    }
    return rule_apply(rule, RULE_RIGHT, room, e->n_cases);
}

static int set_figures(struct board_entry *e, const struct board_table *t)
{
    if (!e->accepted)
        return 0;
    cleanup_free struct rule_case *room = calloc(e->n_cases + 1, sizeof *room);
    if (!room)
        return -1;
    e->ranked.now = figure_of(e, t->rule, t->drift, room);
    e->now_seconds = t->rule->unit == RULE_SECONDS ? e->ranked.now.value
                                                   : figure_of(e, rule_find("geom"), 0, room).value;
    e->now_speedup = t->rule->unit == RULE_SPEEDUP
                         ? e->ranked.now.value
                         : figure_of(e, rule_find("score"), 0, room).value;
    return 0;
}

static bool is_of_time(const char *unit)
{
    return isfinite(board_unit_seconds(unit));
}

/* As the table's others have it: times in seconds, whatever the unit of each.  NaN: none, or another kind of figure. */
static double old_figure(const struct board_entry *e, const struct board_table *t)
{
    if (!e->counted)
        return NAN;
    if (is_of_time(t->old_unit))
        return is_of_time(e->unit) ? e->old_seconds : NAN;
    return strcmp(t->old_unit, e->unit ? e->unit : "") ? NAN : e->value;
}

static int rank_table(struct board_table *t, struct board_entry *entries)
{
    if (find_drift(entries, t->n, &t->drift) || label_entries(entries, t->n))
        return -1;
    size_t valued = 0;
    for (size_t i = 0; i < t->n; i++)
        valued += isfinite(old_figure(&entries[i], t));
    t->by_rank = valued == 0;
    cleanup_free struct ranking_entry *ranked = calloc(t->n + 1, sizeof *ranked);
    if (!ranked)
        return -1;
    for (size_t i = 0; i < t->n; i++) {
        struct board_entry *e = &entries[i];
        double rank = e->counted && e->rank ? (double)e->rank : NAN;
        e->ranked = (struct ranking_entry){.old_figure = t->by_rank ? rank : old_figure(e, t),
                                           .now = rule_none(),
                                           .host_ns = e->host_ns,
                                           .old_ns = t->by_rank ? NAN : e->old_seconds * 1e9};
        if (set_figures(e, t))
            return -1;
        ranked[i] = e->ranked;
    }
    if (ranking_make(ranked, t->n, t->by_rank || t->old_lower, t->rule->lower_is_better,
                     &t->ranking))
        return -1;
    for (size_t i = 0; i < t->n; i++)
        entries[i].ranked = ranked[i];
    return 0;
}

int board_rank(struct board *b)
{
    find_entries(b);
    for (size_t i = 0; i < b->n_tables; i++)
        if (b->tables[i].n && rank_table(&b->tables[i], b->entries + b->tables[i].first))
            return -1;
    return 0;
}
