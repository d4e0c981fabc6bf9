/* The private folder of a reduced jail, and the names it has inside. */
#ifndef KGRADE_SANDBOX_SCRATCH_H
#define KGRADE_SANDBOX_SCRATCH_H

#include <sys/types.h>

#include "sandbox.h"

/* Makes a folder with mode 0700 below $TMPDIR, for `user` if that is not NULL.  Returns its path,
 * to be freed.  Error: `jail_setup_failed`. */
char *scratch_make(const uid_t *user, kgrade_error *err);

/* Removes a folder and everything that a hostile program left in it: trees of any depth, folders
 * without permissions.  Nothing may be running in it.  -1 with errno. */
int scratch_remove(const char *path);

/* Replaces the paths of the jail in one argument or variable by those of the host: the target of
 * each bind by its source, and /tmp by `scratch`.  The longest match counts.  A path is recognised
 * at the start, after one of `=:,;"'` or a blank, and in an option such as -I/path.  Returns a
 * string to be freed, NULL without memory. */
char *scratch_replace_paths(const char *text, const struct jail_bind *binds, size_t n_binds,
                            const char *scratch);

#endif
