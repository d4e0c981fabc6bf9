/* The samples of a table's entries, drawn one below the other on an axis of each case. */
#ifndef KGRADE_REGRADE_REPORT_STRIPS_H
#define KGRADE_REGRADE_REPORT_STRIPS_H

#include "page.h"

#define STRIPS_MAX_CASES 8u
#define STRIPS_MAX_SAMPLES 4096u

/* Of the first of the ranked entries, as many as there is room for. */
int strips_write(FILE *out, struct board *board, const struct board_entry *const *ranked, size_t n,
                 kgrade_error *err);

#endif
