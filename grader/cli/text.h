/* Text for people: times in a fitting unit, foreign text made safe for a terminal, suggestions. */
#ifndef KGRADE_CLI_TEXT_H
#define KGRADE_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_SHORT 96

struct text_short {
    char text[TEXT_SHORT];
};

/* ns as "872.0 ns", "19.40 µs", "1.234 ms" or "2.500 s", four significant digits; "-" for NaN and
 * infinities. */
struct text_short text_time(double ns);

/* "19.40 µs ± 0.05": the error in the unit of the value, two significant digits; without it when it
 * is NaN. */
struct text_short text_time_error(double ns, double error_ns);

/* "19.10–19.90 µs": both ends in the unit of the larger. */
struct text_short text_time_range(double low_ns, double high_ns);

/* "19.4 µs": as short as it can be, for the numbers of an axis. */
struct text_short text_time_tick(double ns);

/* "18.2 GB/s" from 1.82e10 and "B/s", up to four significant digits; "-" for NaN and infinities. */
struct text_short text_scaled(double value, const char *unit);

/* Columns that UTF-8 text takes on a terminal, for text without wide or combining characters. */
size_t text_width(const char *utf8);

/* The candidate nearest to the word by edit distance (insert, delete, replace, swap of neighbours),
 * or NULL when none is near enough to be meant.  candidates ends with NULL. */
const char *text_nearest(const char *word, const char *const *candidates);

/* Prints text that others wrote: control characters but newline and tab become '?', so that it
 * cannot steer the terminal; every line starts with indent.  Ends with a newline. */
void text_print_foreign(FILE *file, const char *indent, const char *text);

/* Prints text that others wrote inside a line: all control characters, newlines too, become '?' or
 * a space. */
void text_print_inline(FILE *file, const char *text);

/* The escape sequence that switches to a colour, "" where colour is not wanted: no terminal, or
 * NO_COLOR is set. */
enum text_colour { TEXT_RESET, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW };
const char *text_colour(FILE *file, enum text_colour colour);

/* Columns of the terminal, 0 when the file is none. */
unsigned text_terminal_columns(FILE *file);

#endif
