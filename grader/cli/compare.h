/* Reports of comparisons (schema kgrade.compare/1), for people. */
#ifndef KGRADE_CLI_COMPARE_H
#define KGRADE_CLI_COMPARE_H

#include <jansson.h>

/* To stdout. */
void compare_print(const json_t *report);

#endif
