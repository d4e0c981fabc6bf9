/*
 * What a grade could leave behind on the machine: processes, files, mounts, shared memory,
 * control groups, descriptors.
 *
 * Several of these programs may run at a time, beside other tests: what others have or leave is not taken for ours.
 * A world is a list of lines, one for each thing found.  Two of them are compared after the runner
 * has become quiet, and whatever is only in the later one has been left behind.
 */
#ifndef ATTACKS_WORLD_H
#define ATTACKS_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "bait.h"

enum world_kind {
    WORLD_PROCESSES = 1,   /* that descend from this one */
    WORLD_FILES = 2,       /* below the runner's own folder; planted names elsewhere */
    WORLD_MOUNTS = 4,      /* of this mount namespace */
    WORLD_DESCRIPTORS = 8, /* of this process */
    WORLD_CGROUPS =
        16, /* of version 2; without processes, or with those that descend from this one */
    WORLD_ALL = 31,
};

struct world {
    char **lines; /* sorted */
    size_t n;
};

/* Makes orphans of our descendants our children, so that none escapes WORLD_PROCESSES, and, where that is allowed, gives us
 * mounts of our own: what jails mount still arrives here if nothing keeps it from doing so, what others mount does not. */
void world_enter(void);

/* Aborts when memory runs out. */
struct world world_look(unsigned kinds, const struct bait *bait);
void world_free(struct world *world);

/* Looks again and again until nothing is new or `seconds` have passed; returns how many new things
 * stay, and prints them, each after `prefix`. */
size_t world_left_behind(const struct world *before, unsigned kinds, const struct bait *bait,
                         double seconds, const char *prefix);

#endif
