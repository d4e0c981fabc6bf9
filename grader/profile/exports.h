/* What candidates' code finds in the recorder's process: the functions of kgrade_ranges.h, and NVTX's injection. */
#ifndef KGRADE_PROFILE_EXPORTS_H
#define KGRADE_PROFILE_EXPORTS_H

#include "kgrade/error.h"

/* Tells the NVTX headers that candidates contain where to look: in this program.  Before a candidate is loaded; NVTX
 * looks once.  -1 with `out_of_memory`. */
int exports_announce(kgrade_error *err);

#endif
