/* The candidate's own device memory, as a call finds it, in a recording. */
#ifndef KGRADE_DEVICES_CONTENTS_H
#define KGRADE_DEVICES_CONTENTS_H

#include "../../recording.h"
#include "workspace.h"

#define CONTENTS_MAX_BYTES (384ull << 20) /* of memory that is not zero, in one recording */
#define CONTENTS_MAX_PIECES                                                                        \
    256u /* that blocks are split into; a replay restores one after the other */
/* Pieces that are not zero are cut where addresses are multiples of this, so that what calls left as it was is one blob in
 * the recording of them all, and not once for each. */
#define CONTENTS_CHUNK (4ull << 20)

struct contents_source {
    struct workspace *workspace;
    /* Copies from the device, or refuses what cannot be carried. */
    int (*read)(void *to, uint64_t address, uint64_t bytes, kgrade_error *err);
    /* The address as a recording has it; NULL: as it is. */
    uint64_t (*address)(uint64_t address);
};

/* Blocks that were in use when the call began (workspace_mark) go with what they hold now, which is what they held then where the
 * call's work has not run; the others as room.  Errors: `workspace_too_large`, `recording_too_large`, and those of `read`. */
int contents_write(const struct contents_source *source, struct recording *recording,
                   struct recording_call *call, kgrade_error *err);

/* Whether a variable still has the value that its image gives it; initial NULL: zeros. */
bool contents_is_initial(const uint8_t *initial, const uint8_t *value, uint64_t bytes);

#endif
