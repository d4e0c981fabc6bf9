#define _GNU_SOURCE
#include "grid.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define GAP 2

void grid_set(struct grid *grid, size_t column, const char *format, ...)
{
    if (grid->rows == 0)
        grid->rows = 1;
    if (column >= GRID_MAX_COLUMNS || grid->rows > GRID_MAX_ROWS)
        return;
    va_list ap;
    va_start(ap, format);
    char *text = NULL;
    if (vasprintf(&text, format, ap) < 0)
        text = NULL;
    va_end(ap);
    char **cell = &grid->cells[grid->rows - 1][column];
    free(*cell);
    *cell = text;
    if (column >= grid->columns)
        grid->columns = column + 1;
}

void grid_next_row(struct grid *grid)
{
    if (grid->rows <= GRID_MAX_ROWS)
        grid->rows++;
}

static size_t filled_rows(const struct grid *grid)
{
    return grid->rows < GRID_MAX_ROWS ? grid->rows : GRID_MAX_ROWS;
}

static const char *cell_text(const struct grid *grid, size_t row, size_t column)
{
    const char *text = grid->cells[row][column];
    return text ? text : "";
}

static size_t column_width(const struct grid *grid, size_t column)
{
    size_t width = 0;
    bool used = false;
    for (size_t row = 0; row < filled_rows(grid); row++) {
        size_t w = text_width(cell_text(grid, row, column));
        used |= row > 0 && w > 0;
        width = w > width ? w : width;
    }
    return used ? width : 0;
}

static void print_spaces(FILE *file, size_t n)
{
    fprintf(file, "%*s", (int)n, "");
}

static void print_row(const struct grid *grid, FILE *file, size_t row, const size_t *widths)
{
    size_t owed = 0; /* spaces not printed yet, so that no line ends with spaces */
    for (size_t column = 0; column < grid->columns; column++) {
        if (!widths[column])
            continue;
        const char *text = cell_text(grid, row, column);
        size_t pad = widths[column] - text_width(text);
        bool left = column < grid->left;
        owed += GAP + (left ? 0 : pad);
        if (*text) {
            print_spaces(file, owed);
            text_print_inline(file, text);
            owed = 0;
        }
        owed += left ? pad : 0;
    }
    fputc('\n', file);
}

static void print_block(const struct grid *grid, FILE *file, size_t row, const size_t *widths)
{
    size_t label = 0;
    for (size_t column = 0; column < grid->columns; column++) {
        size_t w = text_width(cell_text(grid, 0, column));
        label = widths[column] && w > label ? w : label;
    }
    for (size_t column = 0; column < grid->columns; column++) {
        const char *text = cell_text(grid, row, column);
        if (!*text)
            continue;
        const char *heading = cell_text(grid, 0, column);
        print_spaces(file, GAP);
        fputs(heading, file);
        print_spaces(file, label - text_width(heading) + GAP);
        text_print_inline(file, text);
        fputc('\n', file);
    }
}

void grid_print(const struct grid *grid, FILE *file, unsigned columns)
{
    size_t widths[GRID_MAX_COLUMNS];
    size_t total = 0;
    for (size_t column = 0; column < grid->columns; column++) {
        widths[column] = column_width(grid, column);
        total += widths[column] ? widths[column] + GAP : 0;
    }
    if (!columns || total <= columns) {
        for (size_t row = 0; row < filled_rows(grid); row++)
            print_row(grid, file, row, widths);
        return;
    }
    for (size_t row = 1; row < filled_rows(grid); row++) {
        if (row > 1)
            fputc('\n', file);
        print_block(grid, file, row, widths);
    }
}

void grid_free(struct grid *grid)
{
    for (size_t row = 0; row < filled_rows(grid); row++)
        for (size_t column = 0; column < GRID_MAX_COLUMNS; column++)
            free(grid->cells[row][column]);
    *grid = (struct grid){0};
}
