/* The configuration file: lines "name = value", lines that begin with #, empty lines. */
#ifndef KGRADED_CONFIG_H
#define KGRADED_CONFIG_H

#include "../sandbox/base/error.h"

#define CONFIG_MAX_BYTES (64u << 10)

/* Called for each setting of a file, in order; line counts from 1. */
typedef int (*config_setting)(void *data, const char *name, const char *value, unsigned line,
                              kgrade_error *err);

/* Reads a file until its end or the first failure of `each`, whose message then begins with FILE:LINE
 * and whose code is `config_invalid`.  1 when there is no such file.  Further errors:
 * `config_unreadable`. */
int config_read(const char *path, config_setting each, void *data, kgrade_error *err);

#endif
