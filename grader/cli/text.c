#define _GNU_SOURCE
#include "text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct unit {
    const char *name;
    double ns;
};

static const struct unit *unit_for(double ns)
{
    static const struct unit units[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t i = 0;
    /* 999.95 would print as 1000 with four digits: it belongs to the next unit. */
    while (i < 3 && fabs(ns) >= units[i + 1].ns * 0.99995)
        i++;
    return &units[i];
}

static int decimals_for(double value)
{
    value = fabs(value);
    return value < 9.9995 ? 3 : value < 99.995 ? 2 : 1;
}

struct text_short text_time(double ns)
{
    return text_time_error(ns, NAN);
}

struct text_short text_time_error(double ns, double error_ns)
{
    struct text_short s = {"-"};
    if (!isfinite(ns))
        return s;
    const struct unit *unit = unit_for(ns);
    double value = ns / unit->ns;
    int used = snprintf(s.text, sizeof s.text, "%.*f %s", decimals_for(value), value, unit->name);
    if (!isfinite(error_ns) || used < 0 || (size_t)used >= sizeof s.text)
        return s;
    double error = fabs(error_ns) / unit->ns;
    int decimals = error >= 10 ? 0 : error >= 1 ? 1 : error >= 0.1 ? 2 : 3;
    snprintf(s.text + used, sizeof s.text - (size_t)used, " ± %.*f", decimals, error);
    return s;
}

struct text_short text_time_range(double low_ns, double high_ns)
{
    struct text_short s = {"-"};
    if (!isfinite(low_ns) || !isfinite(high_ns))
        return s;
    const struct unit *unit = unit_for(high_ns);
    int decimals = decimals_for(high_ns / unit->ns);
    snprintf(s.text, sizeof s.text, "%.*f–%.*f %s", decimals, low_ns / unit->ns, decimals,
             high_ns / unit->ns, unit->name);
    return s;
}

struct text_short text_time_tick(double ns)
{
    struct text_short s = {"-"};
    if (!isfinite(ns))
        return s;
    const struct unit *unit = unit_for(ns);
    snprintf(s.text, sizeof s.text, "%.6g %s", ns / unit->ns, unit->name);
    return s;
}

struct text_short text_scaled(double value, const char *unit)
{
    static const char prefixes[] = " kMGTPE";
    struct text_short s = {"-"};
    if (!isfinite(value))
        return s;
    size_t i = 0;
    while (prefixes[i + 1] && fabs(value) >= 999.95) {
        value /= 1000;
        i++;
    }
    snprintf(s.text, sizeof s.text, "%.4g %.*s%s", value, i > 0, &prefixes[i], unit);
    return s;
}

size_t text_width(const char *utf8)
{
    size_t width = 0;
    for (; *utf8; utf8++)
        width += ((unsigned char)*utf8 & 0xC0) != 0x80;
    return width;
}

#define NEAREST_MAX 64

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n >= NEAREST_MAX || m >= NEAREST_MAX)
        return SIZE_MAX;
    size_t rows[3][NEAREST_MAX];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        above[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = minimum(best, minimum(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = minimum(best, before[j - 2] + 1);
            row[j] = best;
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[m];
}

const char *text_nearest(const char *word, const char *const *candidates)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t limit = length < 3 ? 1 : length < 6 ? 2 : 3;
    for (; *candidates; candidates++) {
        /* A word cut short is as good as one mistake. */
        size_t d =
            length >= 3 && !strncmp(word, *candidates, length) ? 1 : distance(word, *candidates);
        if (d <= limit && d < strlen(*candidates)) {
            nearest = *candidates;
            limit = d ? d - 1 : 0;
            if (d == 0)
                break;
        }
    }
    return nearest;
}

/* C0 and C1 controls, the latter also in their UTF-8 form (C2 80 .. C2 9F). */
static bool is_control(const unsigned char *p, size_t *ret_bytes)
{
    *ret_bytes = 1;
    if (*p < 0x20 || *p == 0x7F)
        return true;
    if (*p == 0xC2 && p[1] >= 0x80 && p[1] <= 0x9F) {
        *ret_bytes = 2;
        return true;
    }
    /* A stray continuation byte would reach an 8-bit terminal as a C1 control. */
    if ((*p & 0xC0) == 0x80)
        return true;
    size_t more = *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : *p >= 0xC0 ? 1 : 0;
    for (size_t i = 1; i <= more; i++)
        if ((p[i] & 0xC0) != 0x80)
            return true;
    *ret_bytes = 1 + more;
    return false;
}

static void print_clean(FILE *file, const char *indent, const char *text, bool keep_lines)
{
    bool line_start = true;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        if (line_start && indent)
            fputs(indent, file);
        line_start = false;
        size_t n;
        if (!is_control(p, &n)) {
            fwrite(p, 1, n, file);
        } else if (*p == '\n' && keep_lines) {
            fputc('\n', file);
            line_start = true;
        } else if (*p == '\t' || *p == '\n') {
            fputc(keep_lines ? '\t' : ' ', file);
        } else {
            fputc('?', file);
        }
        p += n;
    }
    if (keep_lines && !line_start)
        fputc('\n', file);
}

void text_print_foreign(FILE *file, const char *indent, const char *text)
{
    print_clean(file, indent, text, true);
}

void text_print_inline(FILE *file, const char *text)
{
    print_clean(file, NULL, text, false);
}

const char *text_colour(FILE *file, enum text_colour colour)
{
    static const char *const sequences[] = {
        [TEXT_RESET] = "\033[0m", [TEXT_BOLD] = "\033[1m",   [TEXT_DIM] = "\033[2m",
        [TEXT_RED] = "\033[31m",  [TEXT_GREEN] = "\033[32m", [TEXT_YELLOW] = "\033[33m",
    };
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (!isatty(fileno(file)) || (no_colour && *no_colour) || (term && !strcmp(term, "dumb")))
        return "";
    return sequences[colour];
}

unsigned text_terminal_columns(FILE *file)
{
    struct winsize size;
    if (!isatty(fileno(file)))
        return 0;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) || size.ws_col == 0)
        return 80;
    return size.ws_col;
}
