/* `kgraded token`: makes a token. */
#ifndef KGRADED_ACCESS_COMMAND_H
#define KGRADED_ACCESS_COMMAND_H

#include "../../sandbox/base/error.h"

/* argv[0] is "token".  Writes the new token to stdout, and the line for the token file to the file that
 * --file names, else to stdout as well.  Errors: `usage`; `tokens_unreadable`, `tokens_invalid` (of the
 * file as it is), `tokens_unwritable`. */
int access_command(int argc, char **argv, kgrade_error *err);

#endif
