#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "grid.h"
#include "regrade.h"
#include "text.h"
#include "view.h"

/* Reasons for skipping that are told one by one; entries with further ones are only counted. */
#define MOST_REASONS 20
/* Boards that the table has. */
#define MOST_BOARDS 40

struct describing {
    json_t *sources, *boards, *skipped;
    uint64_t other_reasons;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int take_source(void *data, const struct regrade_source_row *row, kgrade_error *err)
{
    (void)err;
    struct describing *d = data;
    json_array_append_new(d->sources,
                          json_pack("{s:I, s:s, s:s, s:s, s:s?, s:s?, s:O?}", "number",
                                    (json_int_t)row->number, "format", row->adapter, "path",
                                    row->path, "title", row->source.title, "rule", row->source.rule,
                                    "clock", row->source.clock, "notes", row->notes));
    return 0;
}

static void add_one(json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    json_object_set_new(object, key, json_integer(n + 1));
}

/* The last board, or a new one: rows come sorted. */
static json_t *board_of(struct describing *d, const struct regrade_row *row)
{
    json_t *last = json_array_get(d->boards, json_array_size(d->boards) - 1);
    if (last && json_integer_value(json_object_get(last, "source")) == row->source &&
        !strcmp(or_empty(view_string(last, "board")), row->entry.board))
        return last;
    last = json_pack("{s:I, s:s, s:i, s:i, s:i, s:i, s:i}", "source", (json_int_t)row->source,
                     "board", row->entry.board, "entries", 0, "planned", 0, "graded", 0, "skipped",
                     0, "left_out", 0);
    json_array_append_new(d->boards, last);
    return last;
}

/* One for each code and sentence. */
static void count_reason(struct describing *d, const struct regrade_entry *entry)
{
    size_t i;
    json_t *reason;
    json_array_foreach(d->skipped, i, reason)
    {
        if (!strcmp(or_empty(view_string(reason, "code")), entry->skip_code) &&
            !strcmp(or_empty(view_string(reason, "message")), or_empty(entry->skip_message))) {
            add_one(reason, "entries");
            return;
        }
    }
    if (json_array_size(d->skipped) == MOST_REASONS)
        d->other_reasons++;
    else
        json_array_append_new(d->skipped,
                              json_pack("{s:s, s:s, s:i, s:s}", "code", entry->skip_code, "message",
                                        or_empty(entry->skip_message), "entries", 1, "example",
                                        entry->id));
}

static int take_row(void *data, const struct regrade_row *row, kgrade_error *err)
{
    (void)err;
    struct describing *d = data;
    json_t *board = board_of(d, row);
    add_one(board, "entries");
    add_one(board, regrade_state_name(row->state));
    if (row->state == REGRADE_SKIPPED)
        count_reason(d, &row->entry);
    return 0;
}

json_t *plan_describe(const struct regrade_store *store, kgrade_error *err)
{
    struct describing d = {json_array(), json_array(), json_array(), 0};
    struct regrade_counts n;
    json_t *plan = NULL;
    if (!regrade_store_sources(store, take_source, &d, err) &&
        !regrade_store_each(store, false, take_row, &d, err) &&
        !regrade_store_counts(store, &n, err)) {
        plan = json_pack("{s:O, s:O, s:O, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}}",
                         "sources", d.sources, "boards", d.boards, "skipped", d.skipped,
                         "other_skipped", (json_int_t)d.other_reasons, "entries", "total",
                         (json_int_t)n.entries, "chosen", (json_int_t)n.chosen, "graded",
                         (json_int_t)n.graded, "skipped", (json_int_t)n.skipped, "left_out",
                         (json_int_t)n.left_out, "candidates", "total", (json_int_t)n.candidates,
                         "to_do", (json_int_t)n.to_do, "without_recording", (json_int_t)n.unkept);
        if (!plan)
            fail_set(err, "out_of_memory", NULL, "There is no memory for the plan.");
    }
    json_decref(d.sources);
    json_decref(d.boards);
    json_decref(d.skipped);
    return plan;
}

static void print_boards(FILE *file, const json_t *boards)
{
    static const char *const keys[] = {"board",  "entries", "planned",
                                       "graded", "skipped", "left_out"};
    struct grid grid = {.columns = 6, .rows = 1, .left = 1};
    size_t n = json_array_size(boards), shown = n < MOST_BOARDS ? n : MOST_BOARDS;
    for (size_t k = 0; k < 6; k++)
        grid_set(&grid, k, "%s", strcmp(keys[k], "left_out") ? keys[k] : "left out");
    for (size_t i = 0; i < shown; i++) {
        const json_t *board = json_array_get(boards, i);
        grid_next_row(&grid);
        grid_set(&grid, 0, "%.48s", or_empty(view_string(board, "board")));
        for (size_t k = 1; k < 6; k++)
            grid_set(&grid, k, "%.0f", view_number(board, keys[k]));
    }
    grid_print(&grid, file, text_terminal_columns(file));
    grid_free(&grid);
    if (shown < n)
        fprintf(file, "  and %zu more boards\n", n - shown);
}

void plan_print(FILE *file, const json_t *plan)
{
    size_t i, k;
    json_t *source, *note, *reason;
    json_array_foreach(view_members(view_at(plan, "sources")), i, source)
    {
        fprintf(file, "%s: ", or_empty(view_string(source, "format")));
        text_print_inline(file, or_empty(view_string(source, "path")));
        fputc('\n', file);
        json_array_foreach(view_members(view_at(source, "notes")), k, note)
        {
            text_print_foreign(file, "  ", or_empty(json_string_value(note)));
        }
    }
    if (json_array_size(view_at(plan, "boards")))
        print_boards(file, view_at(plan, "boards"));
    json_array_foreach(view_members(view_at(plan, "skipped")), i, reason)
    {
        fprintf(file, "Skipped: %.0f [%s]  ", view_number(reason, "entries"),
                or_empty(view_string(reason, "code")));
        text_print_inline(file, or_empty(view_string(reason, "message")));
        fputs("  For example ", file);
        text_print_inline(file, or_empty(view_string(reason, "example")));
        fputs(".\n", file);
    }
    if (view_number(plan, "other_skipped") > 0)
        fprintf(file, "Skipped for further reasons: %.0f\n", view_number(plan, "other_skipped"));
    double total = view_number(plan, "candidates.total"),
           to_do = view_number(plan, "candidates.to_do");
    fprintf(file, "Entries to grade: %.0f; different candidates among them: %.0f, graded: %.0f.\n",
            view_number(plan, "entries.chosen"), total, total - to_do);
    if (view_number(plan, "candidates.without_recording") > 0)
        fprintf(file, "Candidates left out, since no recording of them is kept: %.0f.\n",
                view_number(plan, "candidates.without_recording"));
}
