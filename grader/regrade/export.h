/* What a regrade found, for machines. */
#ifndef KGRADE_REGRADE_EXPORT_H
#define KGRADE_REGRADE_EXPORT_H

#include <stdio.h>

#include "store.h"

/* One line of JSON for each entry, with the figures that the board had and the whole result (kgrade.grade/1).  The caller
 * closes and checks the file.  Errors: those of reading the store, `out_of_memory`. */
int regrade_export_jsonl(const struct regrade_store *store, FILE *file, kgrade_error *err);

#endif
