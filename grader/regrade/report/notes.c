/* What cannot be graded, and how the page came about. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/report/html.h"
#include "../../cli/view.h"
#include "page.h"

void board_skips(FILE *out, const struct board *b)
{
    if (b->n_skips == 0)
        return;
    fputs("<section>\n<h2>Not graded</h2>\n<p class=\"lead\">", out);
    board_write_count(out, b->skipped, "entry", "entries");
    fputs(" of the sources cannot be graded here. What stood on their board is kept, and is in "
          "results.csv.</p>\n<ul class=\"skips\">\n",
          out);
    for (size_t i = 0; i < b->n_skips; i++) {
        const struct board_skip *s = &b->skips[i];
        fprintf(out, "<li><b>%zu</b> <code>", s->n);
        board_write_name(out, s->code);
        fputs("</code> ", out);
        html_text_cut(out, s->message, BOARD_MAX_TEXT);
        fputs(" <span class=\"dim\">", out);
        fputs(s->n == 1 ? "" : s->other_messages ? "So it says of the first, " : "Such as ", out);
        board_write_name(out, s->example);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n</section>\n", out);
}

static void write_fact(FILE *out, const char *name, const char *text)
{
    fputs("<div><dt>", out);
    board_write_name(out, name);
    fputs("</dt><dd>", out);
    html_text_cut(out, text, BOARD_MAX_TEXT);
    fputs("</dd></div>\n", out);
}

static void write_tallies(FILE *out, const json_t *tallies)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(view_members(tallies), name, value)
    {
        if (n++ == BOARD_MAX_LISTED)
            return;
        cleanup_free char *text = view_brief(value);
        write_fact(out, name, text);
    }
}

static void write_source(FILE *out, const struct board_source *s)
{
    fputs("<h3>", out);
    board_write_name(out, s->title);
    fputs("</h3>\n<dl>\n", out);
    write_fact(out, "read from", s->path);
    write_fact(out, "read as", s->adapter);
    if (s->rule_name)
        write_fact(out, "its rule", s->rule_name);
    write_fact(out, "which is", s->rule ? s->rule->says : "none that is known here; ours is used");
    if (s->clock)
        write_fact(out, "its clock", s->clock);
    write_tallies(out, s->tallies);
    fputs("</dl>\n", out);
    size_t n = json_array_size(s->notes);
    if (n)
        fputs("<ul>", out);
    for (size_t i = 0; i < n && i < BOARD_MAX_LISTED; i++) {
        fputs("<li>", out);
        html_text_cut(out, json_string_value(json_array_get(s->notes, i)), BOARD_MAX_TEXT);
        fputs("</li>", out);
    }
    if (n)
        fputs("</ul>\n", out);
}

/* What was changed in candidates so that they can be graded. */
static void write_changes(FILE *out, const struct board *b)
{
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < b->n_tabled; i++)
        if (b->entries[i].note) {
            first = first ? first : b->entries[i].note;
            n++;
        }
    if (!n)
        return;
    fputs("<p>", out);
    board_write_count(out, n, "entry was", "entries were");
    fputs(" changed so that kgrade can call them: ", out);
    html_text_cut(out, first, BOARD_MAX_TEXT);
    fputs("</p>\n", out);
}

void board_method(FILE *out, const struct board *b)
{
    fputs("<section class=\"method\">\n<h2>How this was made</h2>\n", out);
    fprintf(
        out,
        "<p><b>Time.</b> One call of each entry is recorded as a graph, which a clean process "
        "replays on inputs never seen. The time is the device’s alone; the replays that are timed "
        "are those that are judged. Then the board’s own rule makes a figure of it. An old figure "
        "that has host time in it means something else than the new one: places can be compared, "
        "figures cannot.</p>\n"
        "<p><b>Intervals</b> are at 95 %%, from the samples of each case. Times get the drift of "
        "the baseline’s own time between grades added. The cases of an entry are taken to err "
        "together, which is the cautious way.</p>\n"
        "<p><b>Ties.</b> The best entry leads a group; those after it belong to it as long as "
        "their interval reaches its interval; the first that does not leads the next group. All of "
        "a group share its leader’s rank, and the next group’s rank leaves out as many (1, 1, 3). "
        "</p>\n"
        "<p><b>Old ranks</b> are places by the old figures among the entries that were graded "
        "here, so they may differ from what the board told, which has others too.</p>\n"
        "<p><b>Kept its place.</b> Places are counted among the entries with a rank on both "
        "boards. An entry that is tied has all places of its group; it keeps its place if it has "
        "one of its old places among them.</p>\n"
        "<p><b>Kendall’s τ</b> is τ-b between the old figures and the new groups: pairs in the "
        "same order less pairs in the opposite order, ties set aside. Its interval is that of "
        "Brown and Benedetti (1977); where all pairs agree, Clopper and Pearson’s (1934) for pairs "
        "that share no entry. Fewer than %u entries give none.</p>\n"
        "<p><b>Launch path only.</b> Ahead of another by more than %.0f %% on the old board, not "
        "ahead of it on the device, and the other’s host overhead is more than %.0f %% larger; "
        "where the board told times, also by a tenth of the lead at least. Who rose for certain "
        "has lost nothing and is not counted. Being among the first %u was owed "
        "to the launch path when somebody who was not among them was behind for that alone.</p>\n",
        RANKING_TAU_ENTRIES, RANKING_LEAD * 100, RANKING_LEAD * 100, BOARD_WINNERS);
    write_changes(out, b);
    for (size_t i = 0; i < b->n_sources && i < BOARD_MAX_LISTED; i++)
        write_source(out, &b->sources[i]);
    fputs("</section>\n", out);
}
