/*
 * Open connections and their deadlines.
 *
 * libmicrohttpd only knows idle time, which a client that sends a byte now and then never exceeds,
 * and it closes without a word.  Here every connection has a phase with a deadline of its own; what
 * is overdue is told so with a last answer, written straight to the socket.  That is safe exactly
 * while the library has not begun to answer, which is what the phase says.
 *
 *     READING --> WAITING --> ANSWERING --> READING ...    deadlines: READING and ANSWERING
 *        \----------------------^
 *        \--> REFUSED            a last answer was written; what still arrives is thrown away
 *
 * All functions may be called from any thread.
 */
#ifndef KGRADED_CONNECTION_H
#define KGRADED_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"

struct connections;
struct connection;

/* timeout_ns: for each phase that has a deadline.  NULL without memory. */
struct connections *connections_new(uint64_t timeout_ns);
/* All connections must be closed. */
void connections_free(struct connections *connections);

/* A new connection in phase READING; fd stays the library's.  NULL without memory. */
struct connection *connection_open(struct connections *connections, int fd);
/* Before fd is closed.  NULL is allowed. */
void connection_close(struct connection *connection);

/* READING: a request line has arrived. */
void connection_begin(struct connection *connection);
/* READING -> WAITING: the request is whole, its answer takes time.  False: it was refused. */
bool connection_wait(struct connection *connection);
/* READING or WAITING -> ANSWERING.  False: it was refused. */
bool connection_answer(struct connection *connection);
/* ANSWERING -> READING: the answer is out. */
void connection_next(struct connection *connection);

/* READING -> REFUSED, with a problem as the answer to a request that is not whole yet. */
void connection_refuse(struct connection *connection, const kgrade_error *problem);
/* The status it was refused with, 0 if it was not; ret_code gets the problem's code. */
unsigned connection_refusal(struct connection *connection, char ret_code[48]);

/* Whether the client has closed both directions.  A client that only stopped sending may still
 * listen. */
bool connection_is_gone(struct connection *connection);

/* Refuses what is overdue in READING with `request_timeout`, cuts what is overdue in ANSWERING and
 * REFUSED.  Returns when to come back; no deadline set in the meantime is earlier. */
uint64_t connections_enforce(struct connections *connections);

/* Refuses every request of which a part has arrived; for shutdown. */
void connections_refuse_partial(struct connections *connections, const kgrade_error *problem);

/* Waits until no connection is WAITING or ANSWERING.  False when the deadline came first. */
bool connections_flush(struct connections *connections, uint64_t deadline);

/* Cuts every connection and waits until all are closed.  False when the deadline came first. */
bool connections_cut(struct connections *connections, uint64_t deadline);

/* How many are WAITING. */
unsigned connections_waiting(struct connections *connections);

#endif
