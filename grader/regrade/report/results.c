/* The main figures of all entries as CSV (RFC 4180), those of the new ranking too. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "report.h"

struct writing {
    FILE *file;
    struct board board;
};

static void write_text(FILE *file, const char *text)
{
    text = text ? text : "";
    bool quotes = strpbrk(text, ",\"\r\n") != NULL;
    if (quotes)
        putc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', file);
        putc(*text, file);
    }
    if (quotes)
        putc('"', file);
    putc(',', file);
}

/* Nothing for what is no number. */
static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    putc(',', file);
}

/* Ranks: 0 is none. */
static void write_rank(FILE *file, unsigned rank)
{
    write_number(file, rank ? rank : NAN);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct board_entry *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static void write_new(FILE *file, const struct board *b, const struct board_entry *e)
{
    static const char *const units[] = {
        [RULE_SECONDS] = "s", [RULE_SPEEDUP] = "ratio", [RULE_SCORE] = "points"};
    static const char *const leads[] = {[RANKING_GAIN_STANDS] = "",
                                        [RANKING_GAIN_LAUNCH] = "launch_path",
                                        [RANKING_GAIN_GONE] = "gone"};
    const struct rule_span *now = &e->ranked.now;
    bool ranked = e->state == REGRADE_GRADED && rule_is_some(now);
    write_rank(file, e->ranked.old_rank);
    write_rank(file, e->ranked.new_rank);
    write_number(file, ranked ? now->value : NAN);
    write_number(file, ranked ? now->low : NAN);
    write_number(file, ranked ? now->high : NAN);
    write_text(file, ranked ? units[b->tables[e->table].rule->unit] : NULL);
    write_number(file, e->device_ns);
    write_number(file, e->host_ns);
    fputs(leads[e->ranked.gain], file);
}

static const char *const passed[] = {
    [REGRADE_PASS_UNSAID] = "", [REGRADE_PASSED] = "true", [REGRADE_FAILED] = "false"};

static int write_record(void *data, const struct regrade_row *row, kgrade_error *err)
{
    (void)err;
    const struct writing *w = data;
    FILE *file = w->file;
    const struct regrade_entry *e = &row->entry;
    const char *texts[] = {e->board,
                           e->problem,
                           e->id,
                           e->author,
                           e->files,
                           e->language,
                           e->task,
                           e->device,
                           regrade_state_name(row->state),
                           row->verdict,
                           row->state == REGRADE_SKIPPED ? e->skip_code : row->reason_code};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        write_text(file, texts[i]);
    write_number(file, row->score);
    write_number(file, e->original.value);
    write_text(file, e->original.unit);
    write_rank(file, e->original.rank);
    write_text(file, passed[e->original.passed]);
    const struct board_entry key = {.number = row->number};
    const struct board_entry *found = w->board.n_entries
                                          ? bsearch(&key, w->board.entries, w->board.n_entries,
                                                    sizeof *w->board.entries, compare_numbers)
                                          : NULL;
    if (found)
        write_new(file, &w->board, found);
    else
        fputs(",,,,,,,,", file);
    fputs("\r\n", file);
    return 0;
}

int regrade_report_csv(const struct regrade_store *store, FILE *file, kgrade_error *err)
{
    struct writing w = {.file = file};
    fputs("board,problem,id,author,files,language,task,device,state,verdict,code,score,"
          "original_value,original_unit,original_rank,original_passed,old_place,new_rank,figure,"
          "figure_low,figure_high,figure_unit,device_ns,host_ns,lead\r\n",
          file);
    int rc = board_gather(store, &w.board, err);
    /* The tables are not needed from here on, but for their rules: so the order of their entries is free. */
    if (!rc && w.board.n_entries)
        qsort(w.board.entries, w.board.n_entries, sizeof *w.board.entries, compare_numbers);
    rc = rc || regrade_store_each(store, false, write_record, &w, err) ? -1 : 0;
    board_free(&w.board);
    return rc;
}
