/* Figures as plain records have them: board.json and board.csv. */
#ifndef KGRADE_REGRADE_FIGURES_H
#define KGRADE_REGRADE_FIGURES_H

#include "../quote.h"
#include "board.h"

/* A number, also one that is written as text; NaN for anything else. */
double figures_number(const json_t *json);

/* Fills author and original from a record with the keys of board.json or board.csv, which it keeps as original.row.  record may be
 * NULL: then there are no figures.  A value in a unit that is not known has an order only if the record says "lower_is_better";
 * without, it is left out. */
void figures_take(const json_t *record, struct regrade_entry *entry);

/* What FOLDER/board.json, else FOLDER/board.csv, says. */
struct figures {
    json_t *by_file; /* object of records by "file"; empty where there is no such file */
    json_t *head;    /* what else board.json says; NULL: nothing */
    size_t doubtful; /* records with a value that is read as none; the first of them: */
    struct quoted doubtful_file, doubtful_value;
    const char *doubtful_key;
};

/* Errors: `bad_board`, `file_unreadable`, `file_too_large`. */
int figures_read(const char *folder, struct figures *ret, kgrade_error *err);
/* Tells sink of the doubtful ones; board: whose they are, for people. */
int figures_note(const struct figures *figures, const char *board, const struct regrade_sink *sink,
                 kgrade_error *err);
void figures_free(struct figures *figures);
#define cleanup_figures __attribute__((cleanup(figures_free)))

#endif
