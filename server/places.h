/*
 * Where kgraded keeps and finds things when nobody says.  A service manager says it in the
 * environment; else it is the XDG base directories of the user.
 */
#ifndef KGRADED_PLACES_H
#define KGRADED_PLACES_H

#include <stdbool.h>

#include "../sandbox/base/error.h"

#define PLACES_CONFIG "/etc/kgraded.conf"

/* All return a string to be freed.  Those that can fail return NULL with `usage` (no place can be
 * found; the hint names the option that gives one) or `out_of_memory`. */

/* $RUNTIME_DIRECTORY/kgraded.sock, $XDG_RUNTIME_DIR/kgraded.sock, for root /run/kgraded/kgraded.sock,
 * else kgraded.sock beside the default store. */
char *places_socket(kgrade_error *err);

/* $STATE_DIRECTORY/kgrade.db, $XDG_STATE_HOME/kgrade/kgrade.db, ~/.local/state/kgrade/kgrade.db. */
char *places_store(kgrade_error *err);

/* $CACHE_DIRECTORY; NULL when there is none. */
char *places_cache(void);

/* $CREDENTIALS_DIRECTORY/tokens, when it is there and holds more than an empty line; else NULL. */
char *places_tokens(void);

/* Makes the folder that path is in, and those above it.  shared: others may enter it. */
int places_make_parent(const char *path, bool shared, kgrade_error *err);

/* Takes the service manager's variables out of the environment, so that nothing kgraded starts takes
 * them for its own.  After everything has read its own. */
void places_forget_manager(void);

#endif
