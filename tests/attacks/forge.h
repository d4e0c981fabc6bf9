/* Forged recordings: a good one, changed as expect.json says. */
#ifndef ATTACKS_FORGE_H
#define ATTACKS_FORGE_H

#include <jansson.h>

#include "../../sandbox/base/io.h"

/* Applies the steps of `forge`, a list; see tests/attacks/README.md.  Lengths and hashes are put right afterwards, so that
 * what is refused is what was forged.  -1 after a message on stderr: the steps make no sense. */
int forge_recording(const struct bytes *good, const json_t *forge, struct bytes *ret);

#endif
