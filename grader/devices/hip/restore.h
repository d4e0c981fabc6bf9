/* What a replay may not find of the one before: the workspace, and the variables of the call's modules. */
#ifndef KGRADE_HIP_RESTORE_H
#define KGRADE_HIP_RESTORE_H

#include "rebuild.h"

struct restore {
    struct restore_piece {
        uint64_t address, bytes;
        const uint8_t
            *contents; /* NULL: zeros.  Belongs to the recording or to one of its images */
    } * pieces;
    size_t n;
};

/* Errors: `recording_invalid`, `device_failed`.  The recording and the rebuilt call must stay. */
int restore_open(struct restore *ret, const struct rebuilt *rebuilt,
                 const struct recording *recording, const struct recording_call *call,
                 const struct arena *arena, kgrade_error *err);

/* Clears the workspace, then puts back what the call had found. */
int restore_do(const struct restore *restore, const struct arena *arena, hip_stream stream,
               kgrade_error *err);

void restore_close(struct restore *restore);

#endif
