/* Profiles for people. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "grid.h"
#include "profile.h"
#include "text.h"
#include "view.h"

#define BAR_CELLS 24 /* of the bar for a whole call */
#define PHASES 2
#define MAX_DEPTH 20 /* that indents */

static const char *const phases[PHASES] = {"cold", "warm"};

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || json_equal(a, b); /* which takes no NULL */
}

const json_t *profile_row_like(const json_t *rows, const json_t *like, const char *metric)
{
    static const char *const same[] = {"phase", "range", "path"};
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        bool fits = !strcmp(view_string(row, "metric") ? view_string(row, "metric") : "", metric) &&
                    view_number(row, "thread") == view_number(like, "thread");
        for (size_t k = 0; fits && k < sizeof same / sizeof same[0]; k++)
            fits = is_same(json_object_get(row, same[k]), json_object_get(like, same[k]));
        if (fits)
            return row;
    }
    return NULL;
}

/* Nanoseconds of the row's range per call. */
double profile_per_call(const json_t *row, double calls)
{
    return view_number(row, "mean") * view_number(row, "count") / calls;
}

const json_t *profile_find_row(const json_t *rows, const char *phase, const char *range)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *own_phase = view_string(row, "phase"), *own_range = view_string(row, "range");
        const char *metric = view_string(row, "metric");
        if (own_phase && own_range && metric && !strcmp(own_phase, phase) &&
            !strcmp(own_range, range) && !strcmp(metric, "inclusive"))
            return row;
    }
    return NULL;
}

static void set_bar(struct grid *grid, size_t column, double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    char text[4 * BAR_CELLS + 32] = "";
    double eighths = isfinite(share) ? fmin(fmax(share, 0), 1) * BAR_CELLS * 8 : 0;
    int n = (int)lround(eighths);
    for (int i = 0; i < n / 8; i++)
        strcat(text, "█");
    strcat(text, parts[n % 8]);
    /* The last column is aligned right. */
    grid_set(grid, column, "%s%*s", text, BAR_CELLS - n / 8 - (n % 8 > 0), "");
}

static void fill_line(struct grid *grid, const json_t *rows, const json_t *row, double calls,
                      double whole)
{
    const json_t *self = profile_row_like(rows, row, "self");
    const char *name = view_string(row, "range");
    double depth = view_number(row, "depth"), thread = view_number(row, "thread");
    char where[32] = "";
    if (thread > 0)
        snprintf(where, sizeof where, " (thread %.0f)", thread);
    grid_next_row(grid);
    grid_set(grid, 0, "%*s%s%s%s", 2 * (int)fmin(fmax(depth, 0), MAX_DEPTH), "", name ? name : "?",
             where, view_true(row, "observer_sensitive") ? " *" : "");
    if (!self) /* end_to_end */
    {
        grid_set(grid, 2, "%s", text_time(view_number(row, "median")).text);
        return;
    }
    grid_set(grid, 1, "%.4g", view_number(row, "count") / calls);
    grid_set(grid, 2, "%s", text_time(view_number(row, "median")).text);
    grid_set(grid, 3, "%s", text_time(view_number(row, "p90")).text);
    grid_set(grid, 4, "%s", text_time(profile_per_call(row, calls)).text);
    grid_set(grid, 5, "%s", text_time(profile_per_call(self, calls)).text);
    set_bar(grid, 6, profile_per_call(self, calls) / whole);
}

static void print_phase(const json_t *report, const char *phase)
{
    static const char *const heads[] = {"range",    "n/call", "median",         "p90",
                                        "per call", "self",   "self, of a call"};
    const json_t *rows = view_at(report, "rows");
    double calls = view_number(json_object_get(report, "calls"), phase);
    struct grid grid = {.left = 1};
    size_t i;
    json_t *row;
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        grid_set(&grid, k, "%s", heads[k]);
    const json_t *entry = profile_find_row(rows, phase, "candidate.entry");
    double whole = profile_per_call(entry, calls);
    json_array_foreach(rows, i, row)
    {
        const char *of = view_string(row, "phase"), *metric = view_string(row, "metric");
        if (of && metric && !strcmp(of, phase) && !strcmp(metric, "inclusive"))
            fill_line(&grid, rows, row, calls, whole);
    }
    if (grid.rows) {
        printf("\n%s%s%s: %.0f call%s%s\n", text_colour(stdout, TEXT_BOLD), phase,
               text_colour(stdout, TEXT_RESET), calls, calls == 1 ? "" : "s",
               strcmp(phase, "cold") ? "" : ", each the first of a fresh process");
        grid_print(&grid, stdout, text_terminal_columns(stdout));
    }
    grid_free(&grid);
}

static void print_reason(const json_t *report)
{
    const json_t *reason = view_at(report, "reason");
    const char *message = view_string(reason, "message"), *hint = view_string(reason, "hint");
    const char *log = view_string(reason, "log"), *code = view_string(reason, "code");
    if (!reason)
        return;
    printf("%sNot profiled:%s ", text_colour(stdout, TEXT_RED), text_colour(stdout, TEXT_RESET));
    text_print_inline(stdout, message ? message : "");
    printf(" [%s]\n", code ? code : "?");
    if (hint)
        text_print_foreign(stdout, "  ", hint);
    if (log)
        text_print_foreign(stdout, "  | ", log);
}

void profile_print_errors(FILE *file, const json_t *report)
{
    size_t i;
    json_t *error;
    json_array_foreach(view_at(report, "errors"), i, error)
    {
        const char *phase = view_string(error, "phase"), *code = view_string(error, "code");
        fprintf(file, "%sError%s in %s calls, process %.0f: ", text_colour(file, TEXT_RED),
                text_colour(file, TEXT_RESET), phase ? phase : "?", view_number(error, "process"));
        text_print_inline(file, view_string(error, "message") ? view_string(error, "message") : "");
        fprintf(file, " [%s]\n", code ? code : "?");
    }
    if (i)
        fputs("There are no figures of ranges where one of them does not nest.\n", file);
}

static void print_notes(const json_t *report)
{
    const char *clock = view_string(report, "clock");
    double leaf = view_number(report, "calibration.warm.leaf_ns");
    double complete = view_number(report, "calibration.warm.complete_ns");
    double call = view_number(report, "calibration.warm.call_complete_ns");
    double launches = view_number(report, "calls.warm_launches");
    if (!clock || !isfinite(leaf))
        return;
    printf("\nHost: %s", text_time(view_number(report, "host.cold_ns")).text);
    printf(" for the first call, %s for a later one",
           text_time(view_number(report, "host.warm_ns")).text);
    if (launches > 0)
        printf("; %.4g launch%s a call, %s for each", launches, launches == 1 ? "" : "es",
               text_time(view_number(report, "host.per_launch_ns")).text);
    printf(".\nAn empty range reads as %s and costs what is around it %s (clock: %s)",
           text_time(leaf).text, text_time(complete).text, clock);
    if (call > complete)
        printf(", a call of the API %s", text_time(call).text);
    printf("; * marks ranges for which that is a tenth or more.\n"
           "end_to_end is of whole calls in blocks of %.0f with nothing noted: not to be compared "
           "by subtraction.\n",
           view_number(report, "calls.block"));
    if (view_true(report, "calibration.warm.drifted"))
        puts("What a range costs changed meanwhile: the machine was not quiet, profile again.");
}

static void print_control(const json_t *control)
{
    struct grid grid = {.left = 1};
    static const char *const heads[] = {"control: ranges", "a call", "rounds", "against the first"};
    double first = view_number(json_array_get(control, 0), "median_ns");
    size_t i;
    json_t *one;
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        grid_set(&grid, k, "%s", heads[k]);
    json_array_foreach(control, i, one)
    {
        const char *label = view_string(one, "label");
        double median = view_number(one, "median_ns"), low = INFINITY, high = -INFINITY;
        size_t k;
        json_t *round;
        json_array_foreach(view_at(one, "rounds_ns"), k, round)
        {
            low = fmin(low, json_number_value(round));
            high = fmax(high, json_number_value(round));
        }
        grid_next_row(&grid);
        grid_set(&grid, 0, "%s", label ? label : "?");
        grid_set(&grid, 1, "%s", text_time(median).text);
        grid_set(&grid, 2, "%s", text_time_range(low, high).text);
        if (i)
            grid_set(&grid, 3, "%+.1f %%", 100 * (median / first - 1));
    }
    if (grid.rows) {
        putchar('\n');
        grid_print(&grid, stdout, text_terminal_columns(stdout));
    }
    grid_free(&grid);
}

void profile_print(const json_t *report)
{
    cleanup_free char *dims = view_assignments(view_at(report, "dims"));
    const char *task = view_string(report, "task.name"), *device = view_string(report, "device");
    printf("%s%s%s on %s, case %s\n", text_colour(stdout, TEXT_BOLD), task ? task : "?",
           text_colour(stdout, TEXT_RESET), device ? device : "?", dims ? dims : "");
    print_reason(report);
    profile_print_errors(stdout, report);
    for (size_t i = 0; i < PHASES; i++)
        print_phase(report, phases[i]);
    print_notes(report);
    print_control(view_at(report, "control"));
}

void profile_print_of(const json_t *result)
{
    const json_t *report = view_at(result, "profile");
    if (!report)
        return;
    putchar('\n');
    profile_print(report);
}
