/* Comparisons for people. */
#define _GNU_SOURCE
#include <stdio.h>

#include "../../sandbox/base/cleanup.h"
#include "compare.h"
#include "grid.h"
#include "text.h"
#include "view.h"

static void add_row(struct grid *grid, const char *name, const json_t *at)
{
    grid_next_row(grid);
    grid_set(grid, 0, "%s", name);
    if (view_at(at, "a_ns")) {
        grid_set(grid, 1, "%s", text_time(view_number(at, "a_ns")).text);
        grid_set(grid, 2, "%s", text_time(view_number(at, "b_ns")).text);
    }
    grid_set(grid, 3, "%.3f", view_number(at, "ratio.value"));
    grid_set(grid, 4, "%.3f\342\200\223%.3f", view_number(at, "ratio.low"),
             view_number(at, "ratio.high"));
    if (view_at(at, "margin"))
        grid_set(grid, 5, "%.0f %%", 100 * view_number(at, "margin"));
}

static void print_doubt(const char *doubt)
{
    if (doubt)
        text_print_foreign(stdout, "  in doubt: ", doubt);
}

static void print_table(const json_t *report)
{
    static const char *const heads[] = {"", "A", "B", "A / B", "95 %", "margin"};
    struct grid grid = {.left = 1};
    size_t i;
    json_t *one;
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        grid_set(&grid, k, "%s", heads[k]);
    json_array_foreach(view_at(report, "kernel.cases"), i, one)
    {
        cleanup_free char *dims = view_assignments(view_at(one, "dims"));
        char name[128];
        snprintf(name, sizeof name, "kernel, %s", dims ? dims : "?");
        add_row(&grid, name, one);
    }
    add_row(&grid, "kernel, all cases", view_at(report, "kernel"));
    add_row(&grid, "launch path", view_at(report, "launch_path"));
    json_array_foreach(view_at(report, "kernel.cases"), i, one)
        print_doubt(view_string(one, "doubt"));
    print_doubt(view_string(report, "launch_path.doubt"));
    putchar('\n');
    grid_print(&grid, stdout, text_terminal_columns(stdout));
    grid_free(&grid);
}

void compare_print(const json_t *report)
{
    const json_t *reason = view_at(report, "reason");
    const char *verdict = view_string(report, "verdict");
    if (!reason) {
        printf("B against A: %s%s%s\n", text_colour(stdout, TEXT_BOLD), verdict ? verdict : "?",
               text_colour(stdout, TEXT_RESET));
        print_table(report);
        return;
    }
    const char *message = view_string(reason, "message"), *code = view_string(reason, "code");
    const char *hint = view_string(reason, "hint"), *log = view_string(reason, "log");
    printf("%sNot compared:%s ", text_colour(stdout, TEXT_RED), text_colour(stdout, TEXT_RESET));
    text_print_inline(stdout, message ? message : "");
    printf(" [%s]\n", code ? code : "?");
    if (hint)
        text_print_foreign(stdout, "  ", hint);
    if (log)
        text_print_foreign(stdout, "  | ", log);
}
