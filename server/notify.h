/* Telling the service manager: systemd's notification protocol, which is one datagram. */
#ifndef KGRADED_NOTIFY_H
#define KGRADED_NOTIFY_H

/* Sends a state such as "READY=1" to $NOTIFY_SOCKET.  Does nothing when there is none; a failure is
 * logged, since the manager's own timeout is the judge of it. */
void notify_send(const char *state);

#endif
