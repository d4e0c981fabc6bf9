/* Reads the store: sources, entries and the tables that they stand in, and counts what is not graded. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "../../cli/view.h"
#include "gather.h"

/* Room for one more in an array that doubles whenever it holds a power of two. */
static int grow(void *array, size_t n, size_t size)
{
    if (n & (n - 1))
        return 0;
    void *wider = reallocarray(*(void **)array, n ? 2 * n : 1, size);
    if (!wider)
        return -1;
    *(void **)array = wider;
    return 0;
}

/* --- sources --- */

static int take_source(void *data, const struct regrade_source_row *row, kgrade_error *err)
{
    struct board *b = data;
    if (grow(&b->sources, b->n_sources, sizeof *b->sources))
        return board_no_memory(err);
    struct board_source *s = &b->sources[b->n_sources];
    *s = (struct board_source){.number = row->number,
                               .adapter = board_keep_or(b, row->adapter, "?"),
                               .path = board_keep_or(b, row->path, "?"),
                               .title =
                                   board_keep_or(b, row->source.title, row->path ? row->path : "?"),
                               .clock = board_keep(b, row->source.clock),
                               .rule_name = board_keep(b, row->source.rule),
                               .rule = rule_find(row->source.rule),
                               .p = view_number(row->source.rule_parameters, "p")};
    if (!s->adapter || !s->path || !s->title)
        return board_no_memory(err);
    s->notes = row->notes ? json_deep_copy(row->notes) : NULL;
    s->tallies = row->source.tallies ? json_deep_copy(row->source.tallies) : NULL;
    b->n_sources++;
    return 0;
}

static struct board_source *source_of(const struct board *b, int64_t number)
{
    for (size_t i = 0; i < b->n_sources; i++)
        if (b->sources[i].number == number)
            return &b->sources[i];
    return NULL;
}

/* --- what is not graded --- */

static int count_skip(struct board *b, const struct regrade_entry *e, kgrade_error *err)
{
    const char *code = e->skip_code ? e->skip_code : "unknown";
    for (size_t i = 0; i < b->n_skips; i++)
        if (!strcmp(b->skips[i].code, code)) {
            b->skips[i].n++;
            b->skips[i].other_messages |=
                strcmp(b->skips[i].message, e->skip_message ? e->skip_message : "") != 0;
            return 0;
        }
    if (b->n_skips == BOARD_MAX_CODES) {
        b->skips[b->n_skips - 1].n++;
        b->skips[b->n_skips - 1].other_messages = true;
        return 0;
    }
    if (grow(&b->skips, b->n_skips, sizeof *b->skips))
        return board_no_memory(err);
    struct board_skip skip = {.code = board_keep(b, code),
                              .message = board_keep(b, e->skip_message ? e->skip_message : ""),
                              .example = board_keep_or(b, e->id, "?"),
                              .n = 1};
    if (!skip.code || !skip.message || !skip.example)
        return board_no_memory(err);
    b->skips[b->n_skips++] = skip;
    return 0;
}

/* --- entries and tables --- */

static bool is_same(const struct board_table *t, size_t source, const struct regrade_entry *e)
{
    return t->source == source && !strcmp(t->board, e->board ? e->board : "?") &&
           !strcmp(t->problem, e->problem ? e->problem : "?");
}

/* The rule and order of the first entry that has an old figure hold for the table. */
static int settle(struct board *b, struct board_table *t, const struct board_source *source,
                  const struct regrade_original *o, kgrade_error *err)
{
    if (t->settled)
        return 0;
    t->rule = board_rule_for(source, o);
    t->old_lower = o->lower_is_better;
    t->settled = isfinite(o->value);
    t->old_unit = board_keep_or(b, o->unit, "");
    return t->old_unit ? 0 : board_no_memory(err);
}

/* The index of the table that the row belongs to, a new one if need be. */
static int find_table(struct board *b, const struct board_source *source,
                      const struct regrade_row *row, size_t *ret, kgrade_error *err)
{
    const char *device = row->entry.device ? row->entry.device : "";
    size_t at = (size_t)(source - b->sources);
    for (size_t i = b->n_tables; i-- > 0 && is_same(&b->tables[i], at, &row->entry);)
        if (!strcmp(b->tables[i].device, device)) {
            *ret = i;
            return settle(b, &b->tables[i], source, &row->entry.original, err);
        }
    if (grow(&b->tables, b->n_tables, sizeof *b->tables))
        return board_no_memory(err);
    struct board_table table = {.source = at,
                                .board = board_keep_or(b, row->entry.board, "?"),
                                .problem = board_keep_or(b, row->entry.problem, "?"),
                                .device = board_keep(b, device)};
    if (!table.board || !table.problem || !table.device)
        return board_no_memory(err);
    if (settle(b, &table, source, &row->entry.original, err))
        return -1;
    b->tables[b->n_tables] = table;
    *ret = b->n_tables++;
    return 0;
}

static int add_entry(struct board *b, const struct board_source *source,
                     const struct regrade_row *row, kgrade_error *err)
{
    if (grow(&b->entries, b->n_entries, sizeof *b->entries))
        return board_no_memory(err);
    struct board_entry *e = &b->entries[b->n_entries];
    *e = (struct board_entry){.table = SIZE_MAX,
                              .number = row->number,
                              .candidate = row->candidate,
                              .author = board_keep(b, row->entry.author),
                              .files = board_keep(b, row->entry.files),
                              .id = board_keep_or(b, row->entry.id, "?"),
                              .problem = board_keep_or(b, row->entry.problem, "?"),
                              .verdict = board_keep(b, row->verdict),
                              .reason = board_keep(b, row->reason_code),
                              .note = board_keep(b, row->entry.note),
                              .state = row->state,
                              .device_ns = NAN,
                              .host_ns = NAN,
                              .now_seconds = NAN,
                              .now_speedup = NAN};
    b->n_entries++;
    if (!e->id || !e->problem)
        return board_no_memory(err);
    board_read_original(b, &row->entry.original, e);
    if (find_table(b, source, row, &e->table, err))
        return -1;
    if (row->state != REGRADE_GRADED)
        return 0;
    e->accepted = e->verdict && !strcmp(e->verdict, "accepted");
    return board_read_result(b, row->result, e, err);
}

static int take_row(void *data, const struct regrade_row *row, kgrade_error *err)
{
    struct board *b = data;
    const struct board_source *source = source_of(b, row->source);
    if (!source)
        return fail(err, "report_failed", "The folder of the regrade may be damaged.",
                    "An entry belongs to no source.");
    b->all++;
    switch (row->state) {
    case REGRADE_SKIPPED:
        b->skipped++;
        if (count_skip(b, &row->entry, err))
            return -1;
        break;
    case REGRADE_LEFT_OUT:
        b->left_out++;
        break;
    case REGRADE_PLANNED:
        b->planned++;
        break;
    case REGRADE_GRADED:
    default:
        b->graded++;
        b->accepted += row->verdict && !strcmp(row->verdict, "accepted");
        break;
    }
    bool over = source->rule && source->rule->over_problems;
    return row->state == REGRADE_GRADED || over ? add_entry(b, source, row, err) : 0;
}

int board_gather(const struct regrade_store *store, struct board *ret, kgrade_error *err)
{
    *ret =
        (struct board){.store = store, .rows_left = BOARD_MAX_ROWS, .drawn_left = BOARD_MAX_DRAWN};
    if (regrade_store_sources(store, take_source, ret, err) ||
        regrade_store_each(store, true, take_row, ret, err))
        return -1;
    return board_rank(ret) ? board_no_memory(err) : 0;
}
