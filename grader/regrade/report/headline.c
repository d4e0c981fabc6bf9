/* What came of it, in words and in a few figures; and the list of the tables. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "../../cli/report/html.h"
#include "page.h"

struct totals {
    size_t compared, kept; /* entries that both orders have */
    size_t first, owed;    /* the first of each table, and those who owed it to their launch path */
    size_t tables;         /* with two such entries or more */
    size_t dropped;        /* counted on the old board, and not accepted */
    const struct board_table *only; /* of tables, where there is one */
};

static bool is_rejected(const struct board_entry *e)
{
    return !e->accepted && e->counted && e->verdict && strcmp(e->verdict, "infrastructure_error");
}

/* Being among the first was owed to the launch path when there is one outside them who was behind for that alone; where
 * there is nobody outside, when there is any such one. */
static bool is_owed(const struct board_entry *entries, const struct board_entry *e,
                    unsigned last_rank, bool all)
{
    return e->ranked.gain == RANKING_GAIN_LAUNCH &&
           (all || entries[e->ranked.over_farthest].ranked.old_rank > last_rank);
}

/* The old rank of the last of the first; 0: there is nobody to compare. */
static unsigned find_last(const struct board_entry *entries, size_t n)
{
    unsigned ranks[BOARD_WINNERS] = {0};
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].ranked.compared)
            continue;
        unsigned rank = entries[i].ranked.old_rank;
        size_t at = found < BOARD_WINNERS ? found++ : BOARD_WINNERS;
        if (at == BOARD_WINNERS && rank >= ranks[--at])
            continue;
        for (; at > 0 && ranks[at - 1] > rank; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
    return found ? ranks[found - 1] : 0;
}

static void count_firsts(const struct board *b, const struct board_table *t, struct totals *ret)
{
    const struct board_entry *entries = b->entries + t->first;
    unsigned last = find_last(entries, t->n);
    for (size_t i = 0; i < t->n; i++) {
        if (!entries[i].ranked.compared || entries[i].ranked.old_rank > last)
            continue;
        ret->first++;
        ret->owed += is_owed(entries, &entries[i], last, t->ranking.compared <= BOARD_WINNERS);
    }
}

static struct totals totals_of(const struct board *b)
{
    struct totals ret = {0};
    for (size_t i = 0; i < b->n_tables; i++) {
        const struct board_table *t = &b->tables[i];
        for (size_t k = 0; k < t->n; k++)
            ret.dropped += is_rejected(&b->entries[t->first + k]);
        if (t->ranking.compared < 2)
            continue;
        ret.only = ret.tables++ ? NULL : t;
        ret.compared += t->ranking.compared;
        ret.kept += t->ranking.kept;
        count_firsts(b, t, &ret);
    }
    return ret;
}

static void write_firsts(FILE *out, const struct totals *t)
{
    if (t->owed == 0 && t->only)
        fprintf(out, "; none of the first %zu owed it to the launch path.", t->first);
    else if (t->owed == 0)
        fputs("; no winner owed it to the launch path.", out);
    else if (t->only)
        fprintf(out, "; %zu of the first %zu owed it to %s launch path.", t->owed, t->first,
                t->owed == 1 ? "its" : "their");
    else
        fprintf(out,
                "; %zu of the %zu that were among the first %u of their boards owed it to %s "
                "launch path.",
                t->owed, t->first, BOARD_WINNERS, t->owed == 1 ? "its" : "their");
}

static void write_sentence(FILE *out, const struct board *b, const struct totals *t)
{
    fputs("<h1>", out);
    if (t->compared) {
        fprintf(out, "Of %zu entries %zu keep%s place within noise", t->compared, t->kept,
                t->kept == 1 ? "s its" : " their");
        write_firsts(out, t);
    } else if (b->graded == 0) {
        fputs(b->skipped == b->all && b->all ? "Nothing of it can be graded here."
                                             : "Nothing is graded yet.",
              out);
    } else if (b->accepted == 0) {
        fputs(b->graded == 1 ? "The one graded entry is not accepted."
                             : "None of the graded entries is accepted.",
              out);
    } else {
        fputs("There are no two places to compare.", out);
    }
    fputs("</h1>\n", out);
}

static void write_rest(FILE *out, const struct board *b, const struct totals *t)
{
    fputs("<p class=\"lead\">", out);
    board_write_count(out, b->all, "entry", "entries");
    fputs(" read, ", out);
    fprintf(out, "%zu graded, %zu accepted", b->graded, b->accepted);
    if (b->planned)
        fprintf(out, ", %zu still to be graded", b->planned);
    if (b->left_out)
        fprintf(out, ", %zu not chosen", b->left_out);
    if (b->skipped)
        fprintf(out, ", %zu that cannot be graded here", b->skipped);
    fputs(".", out);
    if (t->dropped == 1)
        fputs(" One that counted on the old board is not accepted.", out);
    else if (t->dropped)
        fprintf(out, " %zu that counted on the old board are not accepted.", t->dropped);
    if (t->compared)
        fputs(" Places are counted among the entries that both boards rank, so nobody rises "
              "because another was thrown out.",
              out);
    fputs("</p>\n", out);
}

static void write_tau(FILE *out, const struct totals *t)
{
    if (!t->only || !isfinite(t->only->ranking.tau.tau))
        return;
    const struct ranking_tau *tau = &t->only->ranking.tau;
    fputs("<p class=\"lead\">How alike the two orders are: Kendall’s τ <b>", out);
    html_text(out, board_signed(tau->tau).text);
    fputs("</b>", out);
    if (isfinite(tau->low)) {
        fputs(", 95 % interval ", out);
        html_text(out, board_signed(tau->low).text);
        fputs(" to ", out);
        html_text(out, board_signed(tau->high).text);
    } else {
        fputs("; for an interval there are too few entries", out);
    }
    fputs(" (1: the same order, 0: as good as drawn by lot, −1: the opposite order).</p>\n", out);
}

static size_t count_gain(const struct board *b, const struct board_table *t, enum ranking_gain gain)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += b->entries[t->first + i].ranked.gain == gain;
    return n;
}

static void cell(FILE *out, const char *label, const char *text)
{
    fprintf(out, "<td data-label=\"%s\">", label);
    html_text(out, text);
    fputs("</td>", out);
}

static void write_row(FILE *out, const struct board *b, size_t at)
{
    const struct board_table *t = &b->tables[at];
    struct text_short text;
    fprintf(out, "<tr><td class=\"left\"><a href=\"#t%zu\">", at);
    board_write_table_name(out, t);
    fputs("</a></td>", out);
    snprintf(text.text, sizeof text.text, "%zu", t->n);
    cell(out, "graded", text.text);
    snprintf(text.text, sizeof text.text, "%zu", t->n - t->accepted);
    cell(out, "not accepted", text.text);
    snprintf(text.text, sizeof text.text, "%zu of %zu", t->ranking.kept, t->ranking.compared);
    cell(out, "keep their place", t->ranking.compared ? text.text : "–");
    cell(out, "Kendall’s τ", board_tau(&t->ranking.tau).text);
    snprintf(text.text, sizeof text.text, "%zu", count_gain(b, t, RANKING_GAIN_LAUNCH));
    cell(out, "launch path only", text.text);
    fputs("</tr>\n", out);
}

void board_headline(FILE *out, const struct board *b)
{
    struct totals t = totals_of(b);
    fputs("<header>\n<p class=\"about\">Regraded: ", out);
    for (size_t i = 0; i < b->n_sources && i < BOARD_MAX_LISTED; i++) {
        fputs(i ? ", " : "", out);
        board_write_name(out, b->sources[i].title);
    }
    fputs("</p>\n", out);
    write_sentence(out, b, &t);
    write_rest(out, b, &t);
    write_tau(out, &t);
    fputs("</header>\n", out);
}

void board_list(FILE *out, const struct board *b)
{
    size_t graded = 0, written = 0;
    for (size_t i = 0; i < b->n_tables; i++)
        graded += b->tables[i].n > 0;
    if (graded < 2)
        return;
    bool folded = graded > BOARD_MAX_OPEN;
    fputs("<section>\n<h2>Boards</h2>\n", out);
    if (folded)
        fprintf(out, "<details><summary>%zu of them</summary>\n", graded);
    fputs("<div class=\"wide\"><table class=\"cases boards\">\n"
          "<thead><tr><th scope=\"col\" class=\"left\">board</th><th scope=\"col\">graded</th>"
          "<th scope=\"col\">not accepted</th><th scope=\"col\">keep their place</th>"
          "<th scope=\"col\">Kendall’s τ</th><th scope=\"col\">launch path only</th></tr></thead>\n"
          "<tbody>\n",
          out);
    for (size_t i = 0; i < b->n_tables && written < BOARD_MAX_TABLES; i++) {
        if (!b->tables[i].n)
            continue;
        written++;
        write_row(out, b, i);
    }
    fputs("</tbody></table></div>\n", out);
    if (graded > written)
        fprintf(out, "<p class=\"note\">%zu more boards are in results.csv.</p>\n",
                graded - written);
    fputs(folded ? "</details>\n</section>\n" : "</section>\n", out);
}
