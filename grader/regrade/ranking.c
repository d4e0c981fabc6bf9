#define _GNU_SOURCE
#include "ranking.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"

#define Z 1.96 /* of a normal distribution's middle 95 % */

/* What is sorted: an entry by its figure, turned so that less is better. */
struct item {
    double key;
    size_t index;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double turned(double figure, bool lower_is_better)
{
    return lower_is_better ? figure : -figure;
}

static double best_end(const struct rule_span *span, bool lower_is_better)
{
    return lower_is_better ? span->low : -span->high;
}

static double worst_end(const struct rule_span *span, bool lower_is_better)
{
    return lower_is_better ? span->high : -span->low;
}

/* The entries that have an old figure (or a new one), best first. */
static size_t sort_entries(const struct ranking_entry *entries, size_t n, bool now,
                           bool lower_is_better, struct item *ret)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        double figure = now ? entries[i].now.value : entries[i].old_figure;
        if (now ? rule_is_some(&entries[i].now) : isfinite(figure))
            ret[k++] = (struct item){turned(figure, lower_is_better), i};
    }
    qsort(ret, k, sizeof *ret, compare_items);
    return k;
}

static void set_old_ranks(struct ranking_entry *entries, const struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool tied = i && items[i].key <= items[i - 1].key;
        entries[items[i].index].old_rank =
            tied ? entries[items[i - 1].index].old_rank : (unsigned)i + 1;
    }
}

static void set_groups(struct ranking_entry *entries, const struct item *items, size_t n,
                       bool lower_is_better)
{
    unsigned group = 0, rank = 0;
    double reach = 0;
    for (size_t i = 0; i < n; i++) {
        struct ranking_entry *e = &entries[items[i].index];
        if (i == 0 || best_end(&e->now, lower_is_better) > reach) {
            reach = worst_end(&e->now, lower_is_better);
            rank = (unsigned)i + 1;
            group++;
        }
        e->group = group;
        e->new_rank = rank;
    }
}

/* The first and last place of each entry among those that both orders have: ret[index]. */
struct places {
    size_t first, last;
};

static void set_places(const struct ranking_entry *entries, const struct item *items, size_t n,
                       bool now, struct places *ret)
{
    size_t place = 0;
    for (size_t i = 0; i < n;) {
        const struct ranking_entry *leader = &entries[items[i].index];
        size_t end = i, counted = 0;
        for (; end < n; end++) {
            const struct ranking_entry *e = &entries[items[end].index];
            if (now ? e->group != leader->group : e->old_rank != leader->old_rank)
                break;
            counted += e->compared;
        }
        for (; i < end; i++)
            ret[items[i].index] = (struct places){place, place + (counted ? counted - 1 : 0)};
        place += counted;
    }
}

static bool is_ahead(const struct ranking_entry *a, const struct ranking_entry *b,
                     bool lower_is_better)
{
    return worst_end(&a->now, lower_is_better) < best_end(&b->now, lower_is_better);
}

/* How many times as good the old figure of a is, less 1; for figures above 0. */
static double old_lead(const struct ranking_entry *a, const struct ranking_entry *b,
                       bool lower_is_better)
{
    double good = lower_is_better ? b->old_figure : a->old_figure;
    double bad = lower_is_better ? a->old_figure : b->old_figure;
    return bad > 0 ? good / bad - 1 : 0;
}

static bool is_launch(const struct ranking_entry *e, const struct ranking_entry *other)
{
    bool times = e->old_ns > 0 && other->old_ns > 0;
    double reach = RANKING_HOST_REACH * (other->host_ns - e->host_ns);
    return other->host_ns > e->host_ns * (1 + RANKING_LEAD) &&
           (!times || other->old_ns - e->old_ns <= reach);
}

static void set_gain(struct ranking_entry *entries, const struct item *by_old, size_t n, size_t at,
                     bool old_lower, bool new_lower)
{
    struct ranking_entry *e = &entries[by_old[at].index];
    for (size_t i = at + 1; i < n; i++) {
        const struct ranking_entry *other = &entries[by_old[i].index];
        if (!other->compared || old_lead(e, other, old_lower) <= RANKING_LEAD ||
            is_ahead(e, other, new_lower))
            continue;
        enum ranking_gain gain = is_launch(e, other) ? RANKING_GAIN_LAUNCH : RANKING_GAIN_GONE;
        if (gain == RANKING_GAIN_GONE && e->gain == RANKING_GAIN_LAUNCH)
            continue;
        if (gain != e->gain) {
            e->gain = gain;
            e->over = 0;
            e->over_nearest = by_old[i].index;
        }
        e->over_farthest = by_old[i].index;
        e->over++;
    }
}

static int set_tau(const struct ranking_entry *entries, size_t n, bool old_lower,
                   struct ranking_tau *ret)
{
    cleanup_free double *x = calloc(n + 1, sizeof *x);
    cleanup_free double *y = calloc(n + 1, sizeof *y);
    if (!x || !y)
        return -1;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (entries[i].compared) {
            x[k] = turned(entries[i].old_figure, old_lower);
            y[k++] = entries[i].group;
        }
    return ranking_tau(x, y, k, ret);
}

int ranking_make(struct ranking_entry *entries, size_t n, bool old_lower_is_better,
                 bool new_lower_is_better, struct ranking *ret)
{
    *ret = (struct ranking){0};
    cleanup_free struct item *by_old = calloc(n + 1, sizeof *by_old);
    cleanup_free struct item *by_new = calloc(n + 1, sizeof *by_new);
    cleanup_free struct places *old_places = calloc(n + 1, sizeof *old_places);
    cleanup_free struct places *new_places = calloc(n + 1, sizeof *new_places);
    if (!by_old || !by_new || !old_places || !new_places)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct ranking_entry *e = &entries[i];
        *e = (struct ranking_entry){
            .old_figure = e->old_figure, .now = e->now, .host_ns = e->host_ns, .old_ns = e->old_ns};
        e->compared = isfinite(e->old_figure) && rule_is_some(&e->now);
    }
    size_t old_n = sort_entries(entries, n, false, old_lower_is_better, by_old);
    size_t new_n = sort_entries(entries, n, true, new_lower_is_better, by_new);
    set_old_ranks(entries, by_old, old_n);
    set_groups(entries, by_new, new_n, new_lower_is_better);
    set_places(entries, by_old, old_n, false, old_places);
    set_places(entries, by_new, new_n, true, new_places);
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].compared)
            continue;
        entries[i].kept =
            old_places[i].first <= new_places[i].last && new_places[i].first <= old_places[i].last;
        ret->compared++;
        ret->kept += entries[i].kept;
    }
    size_t looked = 0;
    for (size_t i = 0; i < old_n && looked < RANKING_WINNERS; i++) {
        size_t index = by_old[i].index;
        if (!entries[index].compared)
            continue;
        looked++;
        if (new_places[index].last >= old_places[index].first)
            set_gain(entries, by_old, old_n, i, old_lower_is_better, new_lower_is_better);
    }
    return set_tau(entries, n, old_lower_is_better, &ret->tau);
}

/* ---- Kendall's tau-b ---- */

/* Counts of values by their place in the order of all, so that those below a place are told in log n (Fenwick 1994). */
struct counts {
    uint32_t *tree;
    size_t n;
};

static void counts_add(struct counts *c, size_t place)
{
    for (size_t i = place + 1; i <= c->n; i += i & (~i + 1))
        c->tree[i]++;
}

static int64_t counts_below(const struct counts *c, size_t place)
{
    int64_t sum = 0;
    for (size_t i = place; i; i -= i & (~i + 1))
        sum += c->tree[i];
    return sum;
}

struct ordered {
    struct item *items;  /* by x */
    size_t *y;           /* place of y by index, the same for equal ones */
    size_t *x_ties;      /* how many have the same x, itself included; by index */
    size_t *y_ties;      /* and y */
    int64_t *difference; /* concordant less discordant partners; by index */
    uint32_t *tree;
};

/* For each entry of items, in runs of equal keys: how many there are of its kind, and its place. */
static void count_ties(const struct item *items, size_t n, size_t *ties, size_t *places)
{
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && items[end].key <= items[i].key)
            end++;
        for (size_t k = i; k < end; k++) {
            ties[items[k].index] = end - i;
            if (places)
                places[items[k].index] = i;
        }
        i = end;
    }
}

/* Adds what entries with a smaller x tell, walking up; or, walking down, those with a larger one. */
static void count_partners(struct ordered *o, size_t n, bool down)
{
    struct counts counts = {o->tree, n};
    for (size_t i = 0; i <= n; i++)
        o->tree[i] = 0;
    int64_t seen = 0;
    for (size_t done = 0; done < n;) {
        size_t ties = o->x_ties[o->items[down ? n - 1 - done : done].index];
        for (size_t k = done; k < done + ties; k++) {
            size_t index = o->items[down ? n - 1 - k : k].index, place = o->y[index];
            int64_t below = counts_below(&counts, place);
            int64_t above = seen - counts_below(&counts, place + 1);
            /* All of equal y are counted at their first place, so those below place + 1 include the ties. */
            o->difference[index] += down ? above - below : below - above;
        }
        for (size_t k = done; k < done + ties; k++)
            counts_add(&counts, o->y[o->items[down ? n - 1 - k : k].index]);
        seen += (int64_t)ties;
        done += ties;
    }
}

/* Brown and Benedetti's error; with every entry a cell of its own in the table: w = sqrt(dx dy), and v and d of that cell. */
static double standard_error(const struct ordered *o, size_t n, double tau, double dx, double dy)
{
    double w = sqrt(dx * dy), sum = 0, all = (double)n;
    for (size_t i = 0; i < n; i++) {
        double v = (double)o->x_ties[i] * dy + (double)o->y_ties[i] * dx;
        double term = 2 * w * (double)o->difference[i] + tau * v;
        sum += term * term;
    }
    double variance = (sum - all * all * all * tau * tau * (dx + dy) * (dx + dy)) / (w * w * w * w);
    return sqrt(fmax(variance, 0));
}

static void set_interval(double tau, double error, size_t n, struct ranking_tau *ret)
{
    if (n < RANKING_TAU_ENTRIES)
        return;
    if (fabs(tau) < 1 - 1e-12) {
        ret->low = fmax(tau - Z * error, -1);
        ret->high = fmin(tau + Z * error, 1);
        return;
    }
    size_t pairs = n / 2;
    double least = 2 * pow(0.025, 1 / (double)pairs) - 1;
    ret->low = tau > 0 ? least : -1;
    ret->high = tau > 0 ? 1 : -least;
}

static void finish_tau(const struct ordered *o, size_t n, struct ranking_tau *ret)
{
    double all = (double)n, dx = all * all, dy = dx, difference = 0;
    for (size_t i = 0; i < n; i++) {
        dx -= (double)o->x_ties[i];
        dy -= (double)o->y_ties[i];
        difference += (double)o->difference[i];
    }
    if (dx <= 0 || dy <= 0)
        return;
    double tau = fmax(-1, fmin(1, difference / sqrt(dx * dy)));
    ret->tau = tau;
    set_interval(tau, standard_error(o, n, tau, dx, dy), n, ret);
}

int ranking_tau(const double *x, const double *y, size_t n, struct ranking_tau *ret)
{
    *ret = (struct ranking_tau){NAN, NAN, NAN};
    if (n < 2)
        return 0;
    cleanup_free struct item *items = calloc(n, sizeof *items);
    cleanup_free size_t *places = calloc(n, sizeof *places);
    cleanup_free size_t *x_ties = calloc(n, sizeof *x_ties);
    cleanup_free size_t *y_ties = calloc(n, sizeof *y_ties);
    cleanup_free int64_t *difference = calloc(n, sizeof *difference);
    cleanup_free uint32_t *tree = calloc(n + 1, sizeof *tree);
    if (!items || !places || !x_ties || !y_ties || !difference || !tree)
        return -1;
    struct ordered o = {items, places, x_ties, y_ties, difference, tree};
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){y[i], i};
    qsort(items, n, sizeof *items, compare_items);
    count_ties(items, n, y_ties, places);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){x[i], i};
    qsort(items, n, sizeof *items, compare_items);
    count_ties(items, n, x_ties, NULL);
    count_partners(&o, n, false);
    count_partners(&o, n, true);
    finish_tau(&o, n, ret);
    return 0;
}
