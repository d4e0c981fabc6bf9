/* A table of short texts with columns as wide as they need to be. */
#ifndef KGRADE_CLI_GRID_H
#define KGRADE_CLI_GRID_H

#include <stddef.h>
#include <stdio.h>

#define GRID_MAX_COLUMNS 10
#define GRID_MAX_ROWS 128

struct grid {
    size_t columns, rows; /* row 0 holds the headings */
    size_t left;          /* so many first columns are aligned left, the others right */
    char *cells[GRID_MAX_ROWS][GRID_MAX_COLUMNS]; /* NULL: empty; owned */
};

/* Sets a cell of the last row; rows and columns beyond the limits are left out. */
void grid_set(struct grid *grid, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Starts the next row. */
void grid_next_row(struct grid *grid);

/* Prints with two spaces before each column and leaves out columns that are empty but for the
 * heading.  Where the terminal is too narrow (columns; 0: never), prints one block of "heading:
 * cell" lines for each row. */
void grid_print(const struct grid *grid, FILE *file, unsigned columns);

void grid_free(struct grid *grid);

#endif
