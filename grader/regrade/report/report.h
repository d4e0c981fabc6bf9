/* What people and their tables read of a regrade. */
#ifndef KGRADE_REGRADE_REPORT_H
#define KGRADE_REGRADE_REPORT_H

#include <stdio.h>

#include "../store.h"

/* Writes one HTML page that loads and runs nothing to out, which the caller closes and checks.
 * Errors: those of reading the store, `out_of_memory`, `report_failed`. */
int regrade_report_html(const struct regrade_store *store, FILE *out, kgrade_error *err);

/* Writes results.csv: an entry a line, its old figures, what came of it, and its place in the new ranking.  The same errors. */
int regrade_report_csv(const struct regrade_store *store, FILE *file, kgrade_error *err);

#endif
