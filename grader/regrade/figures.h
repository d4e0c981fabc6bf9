/* What adapters share: figures as plain records have them, and candidates of several files. */
#ifndef KGRADE_REGRADE_FIGURES_H
#define KGRADE_REGRADE_FIGURES_H

#include "../../sandbox/base/io.h"
#include "board.h"

/* A number, also one that is written as text; NaN for anything else. */
double figures_number(const json_t *json);

/* Fills author and original from a record with the keys of board.json or board.csv, which it keeps as original.row.  record may be
 * NULL: then there are no figures. */
void figures_take(const json_t *record, struct regrade_entry *entry);

/* Reads FOLDER/board.json, else FOLDER/board.csv, into figures, an object by "file"; *ret_head is what else board.json says, a new
 * reference, or stays NULL.  Where there is neither, nothing happens.  Errors: `bad_board`, `file_unreadable`, `file_too_large`. */
int figures_read(const char *folder, json_t *figures, json_t **ret_head, kgrade_error *err);

enum regrade_source_read {
    REGRADE_SOURCE_READ,
    REGRADE_SOURCE_NONE, /* there is no source */
    REGRADE_SOURCE_BAD, /* it cannot be a candidate; *err tells why, in words for a skipped entry */
    REGRADE_SOURCE_FAILED, /* it cannot be read; *err tells why */
};

/* Reads a candidate of one file. */
enum regrade_source_read figures_source(const char *path, struct bytes *ret, kgrade_error *err);

/* Makes one source of the sources and headers in a folder; *ret_language is that of the sources, *ret_files their names, which the
 * caller frees. */
enum regrade_source_read figures_bundle(const char *folder, struct bytes *ret,
                                        const char **ret_language, char **ret_files,
                                        kgrade_error *err);

/* -1, with *err as *why. */
int figures_pass_on(const kgrade_error *why, kgrade_error *err);

#endif
