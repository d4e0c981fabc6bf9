/* The times of a benchmark case, drawn: candidate and baseline above one another on one axis. */
#ifndef KGRADE_CLI_REPORT_DISTRIBUTION_H
#define KGRADE_CLI_REPORT_DISTRIBUTION_H

#include <jansson.h>
#include <stdio.h>

/* one: an element of "cases".  Without "device_time" nothing is written. */
void distribution_plot(FILE *out, const json_t *one);

#endif
