/* What the named interpreters are. */
#ifndef KGRADE_PYTHONS_H
#define KGRADE_PYTHONS_H

#include "engine.h"

/* Runs it once in a jail and remembers: {"name", "version", "frameworks": {NAME: VERSION}}, a borrowed reference.  NULL with
 * `python_failed`. */
const json_t *pythons_ask(kgrade *engine, struct python *python, kgrade_error *err);

#endif
