#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "../view.h"
#include "html.h"
#include "sections.h"

static const char *class_of(const char *verdict)
{
    if (verdict && !strcmp(verdict, "accepted"))
        return "good";
    if (!verdict || !strcmp(verdict, "unresolved") || !strcmp(verdict, "suspect") ||
        !strcmp(verdict, "infrastructure_error"))
        return "doubt";
    return "bad";
}

/* "Wrong answer" */
static void write_words(FILE *out, const char *verdict)
{
    char words[64];
    snprintf(words, sizeof words, "%s", verdict ? verdict : "no verdict");
    for (char *c = words; *c; c++)
        if (*c == '_')
            *c = ' ';
    words[0] = (char)toupper((unsigned char)words[0]);
    html_text(out, words);
}

static size_t benchmarks(const json_t *cases)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++)
        n += isfinite(view_number(json_array_get(cases, i), "speedup.value"));
    return n;
}

static void write_score(FILE *out, const json_t *result)
{
    double score = view_number(result, "score");
    if (!isfinite(score))
        return;
    fprintf(out, "<p class=\"score\"><b>%.3f</b> <span>", score);
    const char *verdict = view_string(result, "verdict");
    size_t n = benchmarks(view_at(result, "cases"));
    if (!verdict || strcmp(verdict, "accepted"))
        fputs("score; only what is accepted has one above zero", out);
    else if (n == 1)
        fputs("score: the baseline’s device time divided by the candidate’s", out);
    else
        fprintf(out,
                "score: the baseline’s device time divided by the candidate’s, geometric mean "
                "over %zu benchmark cases",
                n);
    fputs("</span></p>\n", out);
}

static void write_reason(FILE *out, const json_t *reason)
{
    if (!json_is_object(reason))
        return;
    const char *message = view_string(reason, "message"), *hint = view_string(reason, "hint");
    const char *code = view_string(reason, "code"), *log = view_string(reason, "log");
    fputs("<div class=\"reason\">\n", out);
    if (message)
        html_element(out, "p", "message", message);
    if (hint) {
        fputs("\n<p class=\"hint\"><b>What to do</b> ", out);
        html_text(out, hint);
        fputs("</p>", out);
    }
    if (code) {
        fputs("\n<p class=\"dim\">", out);
        html_element(out, "code", NULL, code);
        if (view_true(reason, "retryable"))
            fputs(" · trying again may help", out);
        else if (view_false(reason, "retryable"))
            fputs(" · trying again will not help", out);
        fputs("</p>", out);
    }
    if (log) {
        fputs("\n<details open=\"open\"><summary>Log</summary>", out);
        html_element(out, "pre", NULL, log);
        fputs("</details>", out);
    }
    fputs("\n</div>\n", out);
}

void section_verdict(FILE *out, const json_t *result)
{
    const char *verdict = view_string(result, "verdict");
    const char *task = view_string(result, "task.name"), *device = view_string(result, "device");
    fprintf(out, "<header class=\"%s\">\n<p class=\"about\">", class_of(verdict));
    html_text(out, task ? task : "a task");
    if (device) {
        fputs(" on ", out);
        html_text(out, device);
    }
    fputs("</p>\n<h1>", out);
    write_words(out, verdict);
    fputs("</h1>\n", out);
    write_score(out, result);
    write_reason(out, view_at(result, "reason"));
    fputs("</header>\n", out);
}
