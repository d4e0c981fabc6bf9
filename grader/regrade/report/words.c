#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "../../cli/report/html.h"
#include "page.h"

void board_write_name(FILE *out, const char *text)
{
    html_text_cut(out, text, BOARD_MAX_NAME);
}

void board_write_table_name(FILE *out, const struct board_table *table)
{
    board_write_name(out, table->board);
    if (strcmp(table->board, table->problem)) {
        fputs(" · ", out);
        board_write_name(out, table->problem);
    }
}

struct text_short board_figure(enum rule_unit unit, double value)
{
    struct text_short s = {"–"};
    if (!isfinite(value))
        return s;
    if (unit == RULE_SECONDS)
        return text_time(value * 1e9);
    snprintf(s.text, sizeof s.text,
             unit == RULE_SCORE ? "%.1f"
             : value < 10       ? "%.3f×"
                                : "%.1f×",
             value);
    return s;
}

struct text_short board_figure_range(enum rule_unit unit, double low, double high)
{
    struct text_short s = {"–"};
    if (!isfinite(low) || !isfinite(high))
        return s;
    if (unit == RULE_SECONDS)
        return text_time_range(low * 1e9, high * 1e9);
    snprintf(s.text, sizeof s.text,
             unit == RULE_SCORE ? "%.1f–%.1f"
             : high < 10        ? "%.3f–%.3f×"
                                : "%.1f–%.1f×",
             low, high);
    return s;
}

struct text_short board_old_figure(const struct board_entry *entry)
{
    struct text_short s = {"–"};
    if (!isfinite(entry->value))
        return s;
    static const char *const times[] = {"s", "ms", "us", "ns"};
    for (size_t i = 0; entry->unit && i < sizeof times / sizeof times[0]; i++)
        if (!strcmp(entry->unit, times[i]))
            return text_time(entry->old_seconds * 1e9);
    bool ratio = entry->unit && !strcmp(entry->unit, "ratio");
    snprintf(s.text, sizeof s.text, ratio ? "%.4g×" : "%.5g", entry->value);
    return s;
}

struct text_short board_verdict(const char *verdict)
{
    struct text_short s;
    snprintf(s.text, sizeof s.text, "%s", verdict ? verdict : "no verdict");
    for (char *c = s.text; *c; c++)
        if (*c == '_')
            *c = ' ';
    return s;
}

void board_write_count(FILE *out, size_t n, const char *one, const char *many)
{
    fprintf(out, "%zu %s", n, n == 1 ? one : many);
}

struct text_short board_signed(double value)
{
    struct text_short s;
    double rounded = round(value * 100) / 100;
    snprintf(s.text, sizeof s.text, "%s%.2f", rounded < 0 ? "−" : "", fabs(rounded));
    return s;
}

struct text_short board_tau(const struct ranking_tau *tau)
{
    struct text_short s = {"–"};
    if (!isfinite(tau->tau))
        return s;
    s = board_signed(tau->tau);
    size_t used = strlen(s.text);
    if (isfinite(tau->low))
        snprintf(s.text + used, sizeof s.text - used, " (%.24s to %.24s)",
                 board_signed(tau->low).text, board_signed(tau->high).text);
    return s;
}
