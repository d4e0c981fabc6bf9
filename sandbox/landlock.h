/* Landlock: the files of the reduced level, as far as the kernel has it. */
#ifndef KGRADE_SANDBOX_LANDLOCK_H
#define KGRADE_SANDBOX_LANDLOCK_H

#include "sandbox.h"

/* The kernel's Landlock ABI; 0 if it has none. */
int landlock_abi(void);

/* Confines the calling process for good: reading and executing below the sources of the binds,
 * writing below the writable ones and `scratch`.  From ABI 6 on it can neither signal processes
 * outside nor reach their abstract sockets.  Does nothing where the kernel has no Landlock.
 * no_new_privs must be set. Error: `jail_setup_failed`. */
int landlock_confine(const struct jail_spec *spec, const char *scratch, kgrade_error *err);

#endif
