/* A sample that waits for the judge's verdict: what the case held after the replay. */
#ifndef KGRADE_JUDGE_SNAPSHOT_H
#define KGRADE_JUDGE_SNAPSHOT_H

#include "worker.h"

#define JUDGE_MAX_SNAPSHOTS 64

struct snapshot {
    struct judge_case c;
    uint64_t bytes; /* that it holds */
    /* On the host: */
    uint8_t *data; /* the case's part of the arena */
    /* On the device: */
    void *kept;          /* by its reference */
    uint64_t kept_whole; /* of a foreign task: the case; 0: not there */
    bool input_changed;
    bool canaries_intact;
    bool taken; /* false: a free place */
};

#endif
