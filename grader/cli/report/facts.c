#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../cli.h"
#include "../text.h"
#include "../view.h"
#include "html.h"
#include "sections.h"

#define MAX_VALUE 2000u /* characters */

static void write_fact(FILE *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    fputs("<div><dt>", out);
    html_text_cut(out, name, MAX_VALUE);
    fputs("</dt><dd>", out);
    html_text_cut(out, value, MAX_VALUE);
    fputs("</dd></div>\n", out);
}

static void write_candidate(FILE *out, const json_t *candidate)
{
    const char *language = view_string(candidate, "language");
    double bytes = view_number(candidate, "bytes");
    char text[256] = "";
    if (language && bytes >= 0)
        snprintf(text, sizeof text, "%.100s, %.0f bytes%s", language, bytes,
                 view_true(candidate, "build_cached") ? ", compiled before" : "");
    write_fact(out, "Candidate", text);
    write_fact(out, "Hash of the candidate", view_string(candidate, "hash"));
}

/* Whatever the replayer says of its device, and whatever a newer one will. */
static void write_environment(FILE *out, const json_t *environment)
{
    const char *key;
    json_t *value;
    json_object_foreach(view_members(environment), key, value)
    {
        if (json_is_null(value))
            continue;
        cleanup_free char *text =
            json_is_object(value) ? view_assignments(value) : view_brief(value);
        cleanup_free char *name = strdup(key);
        for (char *c = name; c && *c; c++)
            if (*c == '_')
                *c = ' ';
        write_fact(out, name, text);
    }
}

void section_facts(FILE *out, const json_t *result)
{
    cleanup_free char *method = table_method(view_at(result, "cases"));
    cleanup_free char *steps = table_steps(view_at(result, "steps"));
    fputs("<section>\n<h2>About this grade</h2>\n<dl>\n", out);
    write_fact(out, "Grade", view_string(result, "id"));
    write_fact(out, "Graded at", view_string(result, "graded_at"));
    write_fact(out, "Measuring", method);
    write_fact(out, "Time spent", steps);
    write_candidate(out, view_at(result, "candidate"));
    write_fact(out, "Task", view_string(result, "task.name"));
    write_fact(out, "Hash of the task", view_string(result, "task.hash"));
    write_fact(out, "Device", view_string(result, "device"));
    fputs("</dl>\n", out);
    if (json_object_size(view_at(result, "environment"))) {
        fputs("<h3>Environment</h3>\n<dl>\n", out);
        write_environment(out, view_at(result, "environment"));
        fputs("</dl>\n", out);
    }
    fputs("</section>\n", out);
}
