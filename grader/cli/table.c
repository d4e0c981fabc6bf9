/* The table at the end of a grade. */
#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"
#include "grid.h"
#include "text.h"
#include "view.h"

static void print_verdict(const json_t *result)
{
    const char *verdict = view_string(result, "verdict");
    enum text_colour colour = TEXT_RED;
    if (verdict && !strcmp(verdict, "accepted"))
        colour = TEXT_GREEN;
    else if (verdict &&
             (!strcmp(verdict, "unresolved") || !strcmp(verdict, "infrastructure_error")))
        colour = TEXT_YELLOW;

    printf("%s%s", text_colour(stdout, TEXT_BOLD), text_colour(stdout, colour));
    char words[64];
    snprintf(words, sizeof words, "%s", verdict ? verdict : "no verdict");
    for (char *c = words; *c; c++)
        *c = *c == '_' ? ' ' : (char)toupper((unsigned char)*c);
    text_print_inline(stdout, words);
    fputs(text_colour(stdout, TEXT_RESET), stdout);

    double score = view_number(result, "score");
    if (isfinite(score))
        printf("  score %s%.3f%s", text_colour(stdout, TEXT_BOLD), score,
               text_colour(stdout, TEXT_RESET));
    const char *task = view_string(result, "task.name"), *device = view_string(result, "device");
    if (task) {
        fputs("  ", stdout);
        text_print_inline(stdout, task);
    }
    if (device) {
        fputs(" on ", stdout);
        text_print_inline(stdout, device);
    }
    putchar('\n');
}

static void print_reason(const json_t *result)
{
    const json_t *reason = view_at(result, "reason");
    if (!json_is_object(reason))
        return;
    const char *code = view_string(reason, "code"), *message = view_string(reason, "message");
    const char *hint = view_string(reason, "hint"), *log = view_string(reason, "log");
    const char *verdict = view_string(result, "verdict");
    putchar('\n');
    if (message)
        text_print_foreign(stdout, "  ", message);
    if (code) {
        printf("  %scode ", text_colour(stdout, TEXT_DIM));
        text_print_inline(stdout, code);
        if (view_true(reason, "retryable"))
            fputs("; trying again may help", stdout);
        else if (verdict && !strcmp(verdict, "infrastructure_error"))
            fputs("; trying again will not help", stdout);
        printf("%s\n", text_colour(stdout, TEXT_RESET));
    }
    if (hint) {
        printf("\n  %sWhat to do:%s\n", text_colour(stdout, TEXT_BOLD),
               text_colour(stdout, TEXT_RESET));
        text_print_foreign(stdout, "  ", hint);
    }
    if (log) {
        printf("\n  %sLog:%s\n", text_colour(stdout, TEXT_BOLD), text_colour(stdout, TEXT_RESET));
        text_print_foreign(stdout, "  | ", log);
    }
}

enum column { CASE, DIMS, RIGHT, TIME, SPREAD, SAMPLES, BASELINE, SPEEDUP, HOST, ROOFLINE };

static void fill_headings(struct grid *grid, const json_t *cases)
{
    double confidence = NAN;
    for (size_t i = 0; i < json_array_size(cases) && !isfinite(confidence); i++)
        confidence = view_number(json_array_get(cases, i), "speedup.confidence");
    grid->left = DIMS + 1;
    grid_set(grid, CASE, "case");
    grid_set(grid, DIMS, "dims");
    grid_set(grid, RIGHT, "right");
    grid_set(grid, TIME, "device time");
    grid_set(grid, SPREAD, "p10–p90");
    grid_set(grid, SAMPLES, "samples");
    grid_set(grid, BASELINE, "baseline");
    if (isfinite(confidence))
        grid_set(grid, SPEEDUP, "speedup (%.0f %%)", confidence * 100);
    else
        grid_set(grid, SPEEDUP, "speedup");
    grid_set(grid, HOST, "host, unscored");
    grid_set(grid, ROOFLINE, "roofline");
}

static void fill_times(struct grid *grid, const json_t *one)
{
    double time = view_time_ns(view_at(one, "device_time"));
    if (isfinite(time)) {
        grid_set(grid, TIME, "%s",
                 text_time_error(time, view_number(one, "device_time.stderr_ns")).text);
        grid_set(grid, SPREAD, "%s",
                 text_time_range(view_number(one, "device_time.p10_ns"),
                                 view_number(one, "device_time.p90_ns"))
                     .text);
    }
    double samples = view_number(one, "device_time.samples");
    double voided = view_number(one, "device_time.void_samples");
    if (isfinite(samples) && voided > 0)
        grid_set(grid, SAMPLES, "%.0f (+%.0f void)", samples, voided);
    else if (isfinite(samples))
        grid_set(grid, SAMPLES, "%.0f", samples);
    double baseline = view_time_ns(view_at(one, "baseline"));
    if (isfinite(baseline))
        grid_set(grid, BASELINE, "%s", text_time(baseline).text);
}

static void fill_speedup(struct grid *grid, const json_t *speedup)
{
    double value = view_number(speedup, "value");
    double low = view_number(speedup, "low"), high = view_number(speedup, "high");
    if (!isfinite(value))
        return;
    if (isfinite(low) && isfinite(high))
        grid_set(grid, SPEEDUP, "%.3f (%.3f–%.3f)", value, low, high);
    else
        grid_set(grid, SPEEDUP, "%.3f", value);
}

static void fill_case(struct grid *grid, const json_t *one)
{
    grid_next_row(grid);
    const char *kind = view_string(one, "kind");
    cleanup_free char *dims = view_assignments(view_at(one, "dims"));
    grid_set(grid, CASE, "%s", kind ? kind : "");
    grid_set(grid, DIMS, "%s", dims ? dims : "");
    if (view_true(one, "correctness.pass"))
        grid_set(grid, RIGHT, "yes");
    else if (view_false(one, "correctness.pass"))
        grid_set(grid, RIGHT, "NO");
    fill_times(grid, one);
    fill_speedup(grid, view_at(one, "speedup"));

    double warm = view_number(one, "host_overhead.warm_ns"),
           cold = view_number(one, "host_overhead.cold_ns");
    if (isfinite(warm) && isfinite(cold))
        grid_set(grid, HOST, "%s (first %s)", text_time(warm).text, text_time(cold).text);
    else if (isfinite(warm))
        grid_set(grid, HOST, "%s", text_time(warm).text);
    double fraction = view_number(one, "roofline.fraction");
    const char *bound = view_string(one, "roofline.bound");
    if (isfinite(fraction))
        grid_set(grid, ROOFLINE, "%.1f %%%s%s", fraction * 100, bound ? " of " : "",
                 bound ? bound : "");
}

/* JSON has no word for what is not finite: null stands for it. */
static char *value_text(const json_t *worst, const char *key)
{
    if (json_is_null(json_object_get(worst, key)))
        return strdup("NaN or infinity");
    return view_brief(view_at(worst, key));
}

static void write_worst(FILE *f, const json_t *correctness, const char **separator)
{
    const json_t *worst = view_at(correctness, "worst");
    cleanup_free char *index = view_brief(view_at(worst, "index"));
    cleanup_free char *expected = value_text(worst, "expected");
    cleanup_free char *got = value_text(worst, "got");
    cleanup_free char *error = view_brief(view_at(worst, "error"));
    const char *parameter = view_string(correctness, "parameter");
    if (!index)
        return;
    fprintf(f, "worst element %s%s%s: expected %s, got %s", index, parameter ? " of " : "",
            parameter ? parameter : "", expected ? expected : "?", got ? got : "?");
    if (error)
        fprintf(f, ", error %s", error);
    *separator = "; ";
}

char *table_mistake(const json_t *one)
{
    static const struct {
        const char *key, *words;
    } counts[] = {{"bad", "wrong"}, {"nan", "not a number"}, {"unwritten", "never written"}};
    const json_t *correctness = view_at(one, "correctness");
    char *text = NULL;
    size_t size = 0;
    FILE *f = view_false(correctness, "pass") ? open_memstream(&text, &size) : NULL;
    if (!f)
        return NULL;
    const char *separator = "";
    write_worst(f, correctness, &separator);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        double n = view_number(correctness, counts[i].key);
        if (!(n > 0))
            continue;
        fprintf(f, "%s%.0f %s", separator, n, counts[i].words);
        separator = "; ";
    }
    double norm = view_number(correctness, "norm");
    if (isfinite(norm))
        fprintf(f, "%srelative norm of the error %.3g", separator, norm);
    fclose(f);
    return text;
}

/* What is wrong with the case: where, what was expected, what came. */
static void print_mistake(const json_t *one)
{
    cleanup_free char *mistake = table_mistake(one);
    if (!mistake)
        return;
    const char *kind = view_string(one, "kind");
    cleanup_free char *dims = view_assignments(view_at(one, "dims"));
    printf("\n  %s", text_colour(stdout, TEXT_RED));
    text_print_inline(stdout, kind ? kind : "case");
    if (dims && *dims) {
        putchar(' ');
        text_print_inline(stdout, dims);
    }
    printf(":%s ", text_colour(stdout, TEXT_RESET));
    text_print_inline(stdout, mistake);
    putchar('\n');
}

/* Whether the grade came as far as this case. */
static bool was_tried(const json_t *one)
{
    return view_at(one, "correctness") || view_at(one, "device_time") ||
           view_at(one, "host_overhead");
}

void table_fill(const json_t *cases, struct grid *ret)
{
    fill_headings(ret, cases);
    size_t i;
    json_t *one;
    json_array_foreach(cases, i, one)
    {
        if (was_tried(one))
            fill_case(ret, one);
    }
}

static void print_cases(const json_t *cases)
{
    struct grid grid = {0};
    size_t i;
    json_t *one;
    table_fill(cases, &grid);
    if (grid.rows > 1) {
        putchar('\n');
        grid_print(&grid, stdout, text_terminal_columns(stdout));
    }
    grid_free(&grid);
    json_array_foreach(cases, i, one) print_mistake(one);
}

char *table_method(const json_t *cases)
{
    size_t i;
    json_t *one;
    json_array_foreach(cases, i, one)
    {
        const json_t *time = view_at(one, "device_time");
        if (!isfinite(view_number(time, "median_ns")))
            continue;
        const char *cache = view_string(time, "cache"), *stopped = view_string(time, "stopped");
        char *text = NULL;
        if (asprintf(&text, "%s%s%sfloor %s, resolution %s%s%s", cache ? "cache " : "",
                     cache ? cache : "", cache ? ", " : "",
                     text_time(view_number(time, "floor_ns")).text,
                     text_time(view_number(time, "resolution_ns")).text,
                     stopped ? ", sampling ended by " : "", stopped ? stopped : "") < 0)
            return NULL;
        return text;
    }
    return NULL;
}

static void print_line(const char *name, const char *text)
{
    if (!text)
        return;
    printf("  %-11s  ", name);
    text_print_inline(stdout, text);
    putchar('\n');
}

static void print_environment(const json_t *environment)
{
    static const char *const parts[][2] = {
        {"hardware", ""},
        {"driver", ""},
        {"isolation", "isolation "},
    };
    const char *separator = "  environment  ";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        cleanup_free char *text = view_brief(view_at(environment, parts[i][0]));
        if (!text || !*text)
            continue;
        printf("%s%s", separator, parts[i][1]);
        text_print_inline(stdout, text);
        separator = ", ";
    }
    if (*separator == ',')
        putchar('\n');
}

char *table_steps(const json_t *steps)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    const char *key, *separator = "";
    json_t *value;
    json_object_foreach(view_members(steps), key, value)
    {
        size_t n = strlen(key);
        if (n < 4 || strcmp(key + n - 3, "_ms") != 0 || !(json_number_value(value) > 0))
            continue;
        fprintf(f, "%s%.*s %s", separator, (int)(n - 3), key,
                text_time(json_number_value(value) * 1e6).text);
        separator = ", ";
    }
    fclose(f);
    if (*separator)
        return text;
    free(text);
    return NULL;
}

void table_print_result(const json_t *result)
{
    print_verdict(result);
    print_reason(result);
    print_cases(view_at(result, "cases"));
    putchar('\n');
    cleanup_free char *method = table_method(view_at(result, "cases"));
    cleanup_free char *steps = table_steps(view_at(result, "steps"));
    print_line("advice", view_string(result, "advice"));
    print_line("measuring", method);
    print_environment(view_at(result, "environment"));
    print_line("maturity", view_string(view_at(result, "environment"), "maturity"));
    print_line("warning", view_string(view_at(result, "environment"), "runtime_warning"));
    print_line("time spent", steps);
}
