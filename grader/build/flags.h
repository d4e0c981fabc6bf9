/*
 * Compiler flags that a candidate asks for, in a line of its own in a source that is compiled:
 *
 *     // kgrade-flags: --use_fast_math -maxrregcount=64
 *
 * So they belong to the source, wherever it goes.  Only what the language lists is taken.
 */
#ifndef KGRADE_FLAGS_H
#define KGRADE_FLAGS_H

#include "bundle.h"

#define FLAGS_LINE "// kgrade-flags:"
#define FLAGS_MAX 16u
#define FLAGS_MAX_BYTES 64u /* of one */

struct flags {
    char list[FLAGS_MAX][FLAGS_MAX_BYTES + 1];
    size_t n;
};

/* In the order of files and lines.  -1 with `flag_not_allowed`. */
int flags_read(const struct device_language *language, const struct bundle *bundle,
               struct flags *ret, kgrade_error *err);

#endif
