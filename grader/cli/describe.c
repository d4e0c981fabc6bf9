/* Tasks, findings, recordings and the machine, for people. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "cli.h"
#include "grid.h"
#include "text.h"
#include "view.h"

/* The array itself, or the one behind the key. */
static const json_t *list_in(const json_t *json, const char *key)
{
    return json_is_array(json) ? json : view_at(json, key);
}

static void print_heading(const char *text)
{
    printf("\n%s%s%s\n", text_colour(stdout, TEXT_BOLD), text, text_colour(stdout, TEXT_RESET));
}

static void print_grid(struct grid *grid)
{
    grid_print(grid, stdout, text_terminal_columns(stdout));
    grid_free(grid);
}

/* "opencl (c), cuda (cuda)".  Caller frees. */
static char *devices_text(const json_t *devices)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        const char *name = view_string(device, "name");
        fprintf(f, "%s%s", i ? ", " : "", name ? name : "?");
        const json_t *languages = view_at(device, "languages");
        for (size_t k = 0; k < json_array_size(languages); k++) {
            const char *language = json_string_value(json_array_get(languages, k));
            fprintf(f, "%s%s%s", k ? ", " : " (", language ? language : "?",
                    k + 1 == json_array_size(languages) ? ")" : "");
        }
    }
    fclose(f);
    return text;
}

void describe_tasks(const json_t *tasks)
{
    const json_t *list = list_in(tasks, "tasks");
    if (!json_array_size(list)) {
        puts("There are no tasks here.");
        return;
    }
    struct grid grid = {.left = 3};
    grid_set(&grid, 0, "task");
    grid_set(&grid, 1, "title");
    grid_set(&grid, 2, "devices");
    size_t i;
    json_t *task;
    json_array_foreach(list, i, task)
    {
        const char *name = view_string(task, "name"), *title = view_string(task, "title");
        grid_next_row(&grid);
        grid_set(&grid, 0, "%s", name ? name : "?");
        grid_set(&grid, 1, "%s", title ? title : "");
        cleanup_free char *devices = devices_text(view_at(task, "devices"));
        grid_set(&grid, 2, "%s", devices ? devices : "");
    }
    print_grid(&grid);
}

static void print_parameters(const json_t *parameters)
{
    if (!json_array_size(parameters))
        return;
    print_heading("Parameters, in the order of the call");
    struct grid grid = {.left = 5};
    static const char *const keys[] = {"name", "kind", "dtype", "shape", "values"};
    for (size_t k = 0; k < 5; k++)
        grid_set(&grid, k, "%s", keys[k]);
    size_t i;
    json_t *param;
    json_array_foreach(parameters, i, param)
    {
        grid_next_row(&grid);
        for (size_t k = 0; k < 5; k++) {
            const json_t *value = view_at(param, keys[k]);
            cleanup_free char *text =
                json_is_object(value) ? view_assignments(value) : view_brief(value);
            grid_set(&grid, k, "%s", text ? text : "");
        }
    }
    print_grid(&grid);
}

static void print_case_list(const char *kind, const json_t *list)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *own = view_string(one, "kind");
        const json_t *dims = view_at(one, "dims");
        cleanup_free char *text = view_assignments(dims ? dims : one);
        printf("  %-12s ", own ? own : kind);
        text_print_inline(stdout, text ? text : "");
        putchar('\n');
    }
}

static void print_cases(const json_t *cases)
{
    if (json_is_array(cases) && json_array_size(cases)) {
        print_heading("Cases");
        print_case_list("", cases);
    } else if (json_is_object(cases)) {
        print_heading("Cases");
        const char *kind;
        json_t *list;
        json_object_foreach(view_members(cases), kind, list) print_case_list(kind, list);
    }
}

static void print_tolerance(const json_t *tolerance)
{
    if (!json_object_size(tolerance))
        return;
    print_heading(
        "Tolerance: |got - expected| <= absolute + relative * |expected| for each element,\n"
        "and ||got - expected|| <= norm * ||expected|| for each output");
    const char *dtype;
    json_t *limits;
    json_object_foreach(view_members(tolerance), dtype, limits)
    {
        printf("  %-12s absolute %g, relative %g, norm %g\n", dtype,
               view_number(limits, "absolute"), view_number(limits, "relative"),
               view_number(limits, "norm"));
        const char *why = view_string(limits, "why");
        if (why)
            text_print_foreign(stdout, "               ", why);
    }
}

void describe_task(const json_t *task)
{
    const char *name = view_string(task, "name"), *title = view_string(task, "title");
    const char *statement = view_string(task, "statement"), *entry = view_string(task, "entry");
    printf("%s%s%s", text_colour(stdout, TEXT_BOLD), name ? name : "task",
           text_colour(stdout, TEXT_RESET));
    if (title) {
        fputs(": ", stdout);
        text_print_inline(stdout, title);
    }
    putchar('\n');
    if (statement) {
        putchar('\n');
        text_print_foreign(stdout, "", statement);
    }
    if (entry) {
        print_heading("Entry point");
        printf("  %s\n", entry);
    }
    print_parameters(view_at(task, "parameters"));
    print_cases(view_at(task, "cases"));
    print_tolerance(view_at(task, "tolerance"));
    if (name) {
        print_heading("To begin");
        printf("  kgrade new %s -o %s.c\n  kgrade grade %s.c --task %s\n", name, name, name, name);
    }
}

/* One thing that was looked at: "ok" or "NO", its name, what was seen, and how to mend it. */
static void print_finding(const json_t *entry, const char *name_key, int name_width)
{
    const char *name = view_string(entry, name_key), *detail = view_string(entry, "detail");
    const char *fix = view_string(entry, "fix");
    bool ok = view_true(entry, "ok");
    bool optional = view_false(entry, "required");
    enum text_colour colour = ok ? TEXT_GREEN : optional ? TEXT_YELLOW : TEXT_RED;
    printf("  %s%-3s%s  %-*s  ", text_colour(stdout, colour),
           ok         ? "ok"
           : optional ? "-"
                      : "NO",
           text_colour(stdout, TEXT_RESET), name_width, name ? name : "?");
    text_print_inline(stdout, detail ? detail : "");
    putchar('\n');
    if (!ok && fix) {
        fputs("       to fix: ", stdout);
        text_print_inline(stdout, fix);
        putchar('\n');
    }
}

static void print_findings(const json_t *findings, const char *name_key)
{
    int width = 0;
    size_t i;
    json_t *entry;
    json_array_foreach(findings, i, entry)
    {
        const char *name = view_string(entry, name_key);
        int w = name ? (int)strlen(name) : 1;
        width = w > width && w < 48 ? w : width;
    }
    json_array_foreach(findings, i, entry) print_finding(entry, name_key, width);
}

static void print_conclusion(bool good, const char *yes, const char *no)
{
    printf("%s%s%s\n", text_colour(stdout, good ? TEXT_GREEN : TEXT_RED), good ? yes : no,
           text_colour(stdout, TEXT_RESET));
}

void describe_findings(const json_t *report, bool passed)
{
    print_findings(view_at(report, "findings"), "check");
    print_conclusion(passed, "The task is fit for use.", "The task is not fit for use.");
}

bool doctor_ready(const json_t *report)
{
    return view_true(report, "ready");
}

void describe_doctor(const json_t *report)
{
    print_findings(view_at(report, "checks"), "name");
    const char *isolation = view_string(report, "isolation");
    printf("\nIsolation: %s\n", isolation ? isolation : "none");
    print_conclusion(doctor_ready(report), "This machine is ready to grade.",
                     "This machine is not ready to grade.");
}
