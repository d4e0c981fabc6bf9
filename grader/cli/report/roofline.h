/* The roofline of a benchmark case, drawn (Williams, Waterman and Patterson, "Roofline", CACM 2009). */
#ifndef KGRADE_CLI_REPORT_ROOFLINE_H
#define KGRADE_CLI_REPORT_ROOFLINE_H

#include <jansson.h>
#include <stdio.h>

/* one: an element of "cases".  Without "roofline" nothing is written; without ceilings in it only what is known. */
void roofline_plot(FILE *out, const json_t *one);

#endif
