/* Between the files that fill a struct board. */
#ifndef KGRADE_REGRADE_REPORT_GATHER_H
#define KGRADE_REGRADE_REPORT_GATHER_H

#include "page.h"

/* pool.c: a copy that lives as long as the board; NULL for NULL, and without memory. */
const char *board_keep(struct board *board, const char *text);
/* Of the other text, a constant, where there is none. */
const char *board_keep_or(struct board *board, const char *text, const char *otherwise);
/* Fills *err with `out_of_memory`; -1. */
int board_no_memory(kgrade_error *err);

/* figures.c: what a result and a board's record tell of an entry. */
int board_read_result(struct board *board, const json_t *result, struct board_entry *entry,
                      kgrade_error *err);
void board_read_original(struct board *board, const struct regrade_original *original,
                         struct board_entry *entry);
/* 1e-3 for "ms" and so on; NaN for what is no unit of time. */
double board_unit_seconds(const char *unit);
/* The rule of the entry, else of the source; and one whose figures are of the same kind as those that stood there. */
const struct rule *board_rule_for(const struct board_source *source,
                                  const struct regrade_original *original);

/* tables.c: the entries in the order of their tables, labelled and ranked.  -1: no memory. */
int board_rank(struct board *board);

#endif
