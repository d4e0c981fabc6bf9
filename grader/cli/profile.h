/* Reports of profiles (schema kgrade.profile/1), for people. */
#ifndef KGRADE_CLI_PROFILE_H
#define KGRADE_CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

/* To stdout. */
void profile_print(const json_t *report);
/* That of a grade's result, where it has one, behind an empty line. */
void profile_print_of(const json_t *result);
/* What is wrong with its ranges; nothing when nothing is. */
void profile_print_errors(FILE *file, const json_t *report);

/* The row of a phase's range, inclusive, of the first thread that has it.  NULL: there is none. */
const json_t *profile_find_row(const json_t *rows, const char *phase, const char *range);

/* The row of the same phase, range, place and thread. */
const json_t *profile_row_like(const json_t *rows, const json_t *row, const char *metric);

/* Nanoseconds of the row's range per call; NaN for NULL. */
double profile_per_call(const json_t *row, double calls);

#endif
