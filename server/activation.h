/* A socket that the service manager has opened: systemd's protocol for passing descriptors. */
#ifndef KGRADED_ACTIVATION_H
#define KGRADED_ACTIVATION_H

#include "../sandbox/base/error.h"

#define ACTIVATION_NONE (-2)

/* The one descriptor that $LISTEN_FDS has passed to this process; ACTIVATION_NONE when there is none;
 * -1 with `activation_failed` when there are several, since kgraded serves on one. */
int activation_socket(kgrade_error *err);

#endif
