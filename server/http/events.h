/* GET /grades/{id}/events: a grade as it proceeds, as server-sent events. */
#ifndef KGRADED_EVENTS_H
#define KGRADED_EVENTS_H

#include "request.h"

/* Seconds after which a stream without events gets a comment, so that proxies keep it and an end of
 * the client is noticed. */
#define EVENTS_KEEP_ALIVE_S 15
/* Milliseconds after which a client that lost the stream should come back. */
#define EVENTS_RETRY_MS 2000

enum MHD_Result events_get(struct request *r);

#endif
