/* What this build of the double is to do wrong, in words "NAME" and "NAME=NUMBER". */
#ifndef KGRADE_TESTS_HIP_SCRIPT_H
#define KGRADE_TESTS_HIP_SCRIPT_H

#include <stdbool.h>

extern const char double_script[];

bool script_has(const char *name);
long script_number(const char *name, long otherwise);

#endif
