/* How many calls make a block whose time is worth reading. */
#ifndef KGRADE_PROFILE_BLOCKS_H
#define KGRADE_PROFILE_BLOCKS_H

#include "../record/record.h"

struct blocks {
    unsigned calls;  /* of a block */
    unsigned blocks; /* of a round, at least BLOCKS_LEAST */
};

#define BLOCKS_LEAST 3u

/* Blocks grow until reading the clock does not show, unless their kernels take long; a round takes about round_ns. */
int blocks_find(struct record_session *session, uint64_t round_ns, struct blocks *ret,
                struct finding *finding);

#endif
