/* Comma-separated values as RFC 4180 has them: quoted fields may hold commas, line ends and doubled quotes. */
#ifndef KGRADE_REGRADE_CSV_H
#define KGRADE_REGRADE_CSV_H

#include <jansson.h>
#include <stddef.h>

#include "kgrade/error.h"

#define REGRADE_MAX_COLUMNS 256u

struct regrade_csv {
    const char *at, *end;
    const char *path; /* for messages */
    unsigned line;    /* of `at` */
    unsigned record;  /* line on which the record begins */
    json_t *names;    /* of the columns: an array */
};

/* Reads the names of the columns from the first record.  text must live as long.  Errors: `bad_board`. */
int regrade_csv_open(const char *text, size_t size, const char *path, struct regrade_csv *ret,
                     kgrade_error *err);
void regrade_csv_close(struct regrade_csv *csv);
#define cleanup_csv __attribute__((cleanup(regrade_csv_close)))

/* The next record as an object of strings by column, a new reference; fields that are empty are left out.  1: a record; 0: no more; -1 with
 * `bad_board` and the line. */
int regrade_csv_next(struct regrade_csv *csv, json_t **ret, kgrade_error *err);

#endif
