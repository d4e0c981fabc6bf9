/*
 * What a grade could leave behind on the machine: processes, files, mounts, shared memory,
 * descriptors.
 *
 * A world is a list of lines, one for each thing found.  Two of them are compared after the runner
 * has become quiet, and whatever is only in the later one has been left behind.
 */
#ifndef HOSTILE_WORLD_H
#define HOSTILE_WORLD_H

#include <stdbool.h>
#include <stddef.h>

enum world_kind {
    WORLD_PROCESSES = 1,   /* that descend from this one */
    WORLD_FILES = 2,       /* below the runner's own folder; planted names elsewhere */
    WORLD_MOUNTS = 4,      /* of this mount namespace */
    WORLD_DESCRIPTORS = 8, /* of this process */
};

struct world {
    char **lines; /* sorted */
    size_t n;
};

/* Makes orphans of our descendants our children, so that none escapes WORLD_PROCESSES. Call once.
 */
void world_adopt_orphans(void);

/* `folder` is where the engine keeps its files.  Aborts when memory runs out. */
struct world world_look(unsigned kinds, const char *folder);
void world_free(struct world *world);

/* Looks again and again until nothing is new or `seconds` have passed; returns how many new things
 * stay, and prints them, each after `prefix`. */
size_t world_left_behind(const struct world *before, unsigned kinds, const char *folder,
                         double seconds, const char *prefix);

#endif
