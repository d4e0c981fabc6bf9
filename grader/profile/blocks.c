#include "blocks.h"

#define BLOCK_NS (100 * 1000ull)
#define MOST_CALLS 256u
#define MOST_BLOCKS 500u

int blocks_find(struct record_session *session, uint64_t round_ns, struct blocks *ret,
                struct finding *f)
{
    double ns;
    uint64_t wall_ns;
    for (ret->calls = 1;; ret->calls *= 2) {
        if (record_blocks(session, 1, ret->calls, false, &ns, &wall_ns, f))
            return -1;
        if (ns * ret->calls >= BLOCK_NS || wall_ns >= round_ns / 4 || ret->calls >= MOST_CALLS)
            break;
    }
    uint64_t n = round_ns / (wall_ns ? wall_ns : 1);
    ret->blocks = n < BLOCKS_LEAST ? BLOCKS_LEAST : n > MOST_BLOCKS ? MOST_BLOCKS : (unsigned)n;
    return 0;
}
