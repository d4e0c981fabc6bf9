/* What a candidate is made of: a file, standard input, or several files. */
#ifndef KGRADE_CLI_SOURCES_H
#define KGRADE_CLI_SOURCES_H

#include "../../sandbox/base/io.h"

/* The whole of a file, or with "-" of standard input, of at most limit bytes. */
int sources_read_input(const char *path, size_t limit, struct bytes *ret, kgrade_error *error);

/* One file as it is; several as kgrade_bundle makes one source of them, called by the last part of their paths. */
int sources_read(char *const *paths, size_t n, struct bytes *ret, kgrade_error *error);

#endif
