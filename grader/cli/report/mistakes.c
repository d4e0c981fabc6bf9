#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "../../../sandbox/base/cleanup.h"
#include "../cli.h"
#include "../view.h"
#include "html.h"
#include "sections.h"

#define MAX_ELEMENTS 64u

static void write_element(FILE *out, const json_t *value)
{
    cleanup_free char *text = view_brief(json_is_null(value) ? NULL : value);
    html_element(out, "td", NULL, text ? text : "NaN or ∞");
}

static void write_row(FILE *out, double index, double worst, const json_t *expected,
                      const json_t *got)
{
    bool is_worst = fabs(index - worst) < 0.5;
    fprintf(out, "<tr%s><th scope=\"row\">%.0f</th>", is_worst ? " class=\"worst\"" : "", index);
    write_element(out, expected);
    write_element(out, got);
    if (json_is_number(expected) && json_is_number(got))
        fprintf(out, "<td>%.3g</td>", json_number_value(got) - json_number_value(expected));
    else
        fputs("<td></td>", out);
    fputs("</tr>\n", out);
}

/* The elements around the worst one, where the result has them. */
static void write_around(FILE *out, const json_t *correctness)
{
    const json_t *around = view_at(correctness, "around");
    const json_t *expected = view_at(around, "expected"), *got = view_at(around, "got");
    double first = view_number(around, "first"), worst = view_number(correctness, "worst.index");
    size_t n = json_array_size(expected);
    n = n < json_array_size(got) ? n : json_array_size(got);
    n = n < MAX_ELEMENTS ? n : MAX_ELEMENTS;
    if (!n || !isfinite(first))
        return;
    const char *parameter = view_string(correctness, "parameter");
    fputs("<div class=\"wide\"><table class=\"elements\">\n<thead><tr><th scope=\"col\">", out);
    fputs(parameter ? "element of " : "element", out);
    html_text(out, parameter);
    fputs("</th><th scope=\"col\">expected</th><th scope=\"col\">got</th>"
          "<th scope=\"col\">difference</th></tr></thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < n; i++)
        write_row(out, first + (double)i, worst, json_array_get(expected, i),
                  json_array_get(got, i));
    fputs("</tbody></table></div>\n", out);
}

void section_mistakes(FILE *out, const json_t *result)
{
    bool begun = false;
    size_t i;
    json_t *one;
    json_array_foreach(view_at(result, "cases"), i, one)
    {
        cleanup_free char *mistake = table_mistake(one);
        if (!mistake)
            continue;
        fputs(begun ? "" : "<section>\n<h2>What is wrong</h2>\n", out);
        begun = true;
        fputs("<h3>", out);
        section_case_name(out, one);
        fputs("</h3>\n", out);
        if (*mistake)
            html_element(out, "p", NULL, mistake);
        fputs("\n", out);
        write_around(out, view_at(one, "correctness"));
    }
    fputs(begun ? "</section>\n" : "", out);
}
