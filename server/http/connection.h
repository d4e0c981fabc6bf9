/*
 * Open connections: their deadlines, their sleep, and whether the client is still there.
 *
 * libmicrohttpd only knows idle time, which a client that sends a byte now and then never exceeds,
 * and it closes without a word; a connection that it suspends has no deadline at all and does not
 * notice that its client left.  Here every connection has a phase with a deadline of its own; what
 * is overdue is told so with a last answer, written straight to the socket.  That is safe exactly
 * while the library has not begun to answer, which is what the phase says.
 *
 *     READING --> WAITING --> ANSWERING --> READING ...
 *        |           ^            |
 *        |           +------------+    an answer in pieces waits between them
 *        +------------------------^
 *        +--> REFUSED            a last answer was written; what still arrives is thrown away
 *
 * A connection that is WAITING is suspended, and is woken by whatever it waits for, by its deadline,
 * or by the end of its client.  A thread of this module sees to deadlines and ends.
 *
 * The end of a client on TCP looks like that of its sending side.  To tell the two apart an interim
 * answer, "100 Continue", is written: one who listens skips it, the system of one who is gone
 * answers with a reset.
 *
 * All functions may be called from any thread unless they say otherwise.
 */
#ifndef KGRADED_CONNECTION_H
#define KGRADED_CONNECTION_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"
#include "../access/access.h"

struct connections;
struct connection;

/* timeout_ns: for READING and for ANSWERING.  Errors: `out_of_memory`, `thread_failed`. */
int connections_new(uint64_t timeout_ns, struct connections **ret, kgrade_error *err);
/* All connections must be closed. */
void connections_free(struct connections *connections);

/* A new connection in phase READING; mhd and fd stay the library's.  NULL without memory. */
struct connection *connection_open(struct connections *connections, struct MHD_Connection *mhd,
                                   int fd);
/* Before fd is closed.  NULL is allowed. */
void connection_close(struct connection *connection);

/* Who is at the other end, as far as the socket knows. */
const struct access_peer *connection_peer(const struct connection *connection);

/* READING: a request line has arrived. */
void connection_begin(struct connection *connection);
/* READING, WAITING or ANSWERING -> ANSWERING, with a deadline for what is sent now.  False: it was
 * refused. */
bool connection_answer(struct connection *connection);
/* ANSWERING -> READING: the answer is out. */
void connection_next(struct connection *connection);

/* Only in a callback of the library for this connection: READING or ANSWERING -> WAITING, until
 * connection_wake, until deadline, or until the client is gone; at once when any of it has happened
 * since connection_look.  The library then calls back.  interim: the request is HTTP/1.1 and its
 * answer has not begun.  False: it was refused. */
bool connection_sleep(struct connection *connection, uint64_t deadline, bool interim);
void connection_wake(struct connection *connection);

/* To be called before looking whether to sleep: what happens from now on ends the next sleep. */
enum connection_sight {
    CONNECTION_GONE = 1,   /* the client has left: nobody would read an answer */
    CONNECTION_ENDING = 2, /* connections_end_waits: nothing must sleep any more */
};
unsigned connection_look(struct connection *connection);

/* READING -> REFUSED, with a problem as the answer to a request that is not whole yet. */
void connection_refuse(struct connection *connection, const kgrade_error *problem);
/* The status it was refused with, 0 if it was not; ret_code gets the problem's code. */
unsigned connection_refusal(struct connection *connection, char ret_code[48]);

/* Wakes all that sleep. */
void connections_wake(struct connections *connections);
/* The same, and lets nothing sleep any more. */
void connections_end_waits(struct connections *connections);

/* Refuses every request of which a part has arrived; for shutdown. */
void connections_refuse_partial(struct connections *connections, const kgrade_error *problem);

/* Waits until no connection is WAITING or ANSWERING.  False when the deadline came first. */
bool connections_flush(struct connections *connections, uint64_t deadline);

/* Cuts every connection and waits until all are closed.  False when the deadline came first. */
bool connections_cut(struct connections *connections, uint64_t deadline);

struct connections_counts {
    unsigned open, waiting;
};
struct connections_counts connections_count(struct connections *connections);

#endif
