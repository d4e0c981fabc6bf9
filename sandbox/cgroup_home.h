/*
 * Where this service may make cgroups: below the cgroup that it was given.
 *
 * A cgroup that has processes cannot pass controllers on, so the service's own process has to leave
 * it for a leaf first:
 *
 *     home                  given to the service (systemd: Delegate=yes)
 *     |- kgrade-main        the service, that is the caller of sandbox_start
 *     `- kgrade-PID-TIME    what one spawner makes; see cgroup.h
 *
 * Nothing of this is done in a cgroup that may belong to somebody else.  Where the process lives in
 * the root of the hierarchy, which may have processes, nobody moves and no setting is changed.
 */
#ifndef KGRADE_SANDBOX_CGROUP_HOME_H
#define KGRADE_SANDBOX_CGROUP_HOME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CGROUP_MAX_PATH 4096
#define CGROUP_MAIN_LEAF "kgrade-main"

struct cgroup_home {
    char folder[2 * CGROUP_MAX_PATH];
    bool is_root; /* of the hierarchy */
    bool in_main; /* the process is in the leaf CGROUP_MAIN_LEAF already */
};

/* What is looked at: the folder of the calling process in /proc, and the one that is there when
 * systemd runs, which marks what it has delegated. */
struct cgroup_places {
    const char *proc, *systemd;
};
extern const struct cgroup_places cgroup_real_places;

/* Finds the home of the calling process and checks that it may make cgroups there.  Error:
 * `cgroup_unavailable`; the hint says how to get it. */
int cgroup_home_find(const struct cgroup_places *places, struct cgroup_home *ret,
                     kgrade_error *err);

/* Moves the calling process with all its threads into the leaf, where that is needed; refuses where
 * the home holds other processes.  Error: `cgroup_unavailable`. */
int cgroup_home_step_aside(const struct cgroup_places *places, kgrade_error *err);

/* Reads the first line of a file in an open folder, without its line end.  -1 with errno. */
int cgroup_read_line(int folder, const char *file, char *ret, size_t size);

/* Writes a whole text to a file in an open folder.  -1 with errno. */
int cgroup_write(int folder, const char *file, const char *text);

/* Whether a list of words separated by blanks has this one. */
bool cgroup_has_word(const char *list, const char *word);

#endif
