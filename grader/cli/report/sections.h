/* The sections of the page, from top to bottom.  A section about which the result says nothing is not written. */
#ifndef KGRADE_CLI_REPORT_SECTIONS_H
#define KGRADE_CLI_REPORT_SECTIONS_H

#include <jansson.h>
#include <stdio.h>

/* verdict.c: verdict, score, reason. */
void section_verdict(FILE *out, const json_t *result);
/* mistakes.c: what is wrong, and the elements around the worst one. */
void section_mistakes(FILE *out, const json_t *result);
/* cases.c: the table; speedups; times and rooflines of the benchmark cases. */
void section_cases(FILE *out, const json_t *result);
/* host.c */
void section_host(FILE *out, const json_t *result);
/* ranges.c */
void section_ranges(FILE *out, const json_t *result);
/* graph.c */
void section_graph(FILE *out, const json_t *result, const json_t *recording);
/* facts.c: task, candidate, environment. */
void section_facts(FILE *out, const json_t *result);

/* style.c: the style sheet. */
extern const char report_style[];

/* cases.c: "benchmark n=1024" of an element of "cases", escaped. */
void section_case_name(FILE *out, const json_t *one);

#endif
