/*
 * What kgrade asks of a kgraded: submitting, following, reading, cancelling.
 *
 * Every request is safe to repeat: submissions carry an Idempotency-Key, the rest changes nothing or ends in the same
 * state.  So broken connections, 429 and 503 are tried again, after what Retry-After says or after a pause that doubles,
 * until REMOTE_GIVE_UP_S have passed without an answer.
 */
#ifndef KGRADE_CLI_REMOTE_H
#define KGRADE_CLI_REMOTE_H

#include <jansson.h>

#include "../cli.h"

#define REMOTE_GIVE_UP_S 600u
#define REMOTE_MAX_PAUSE_S 30u
#define REMOTE_ID_SIZE 65

struct remote;

/* The server of --server or $KGRADE_SERVER; NULL for grading on this machine. */
const char *remote_server(const struct cli *cli);

/* Errors: those of transfer_open. */
int remote_open(const struct cli *cli, struct remote **ret, kgrade_error *error);
void remote_close(struct remote *remote);
static inline void cleanup_remote_(struct remote **remote)
{
    remote_close(*remote);
}
#define cleanup_remote __attribute__((cleanup(cleanup_remote_)))

/* Who is to blame for the last error: CLI_USAGE when the server refused the request, else CLI_INFRASTRUCTURE. */
enum cli_exit remote_blame(const struct remote *remote);

/* GET path, a new reference in *ret.  Errors: the server's codes and those of transfer_run. */
int remote_get(struct remote *remote, const char *path, json_t **ret, kgrade_error *error);

/* Submits.  Returns 0 with the id of the grade.  request->id is not that, but the Idempotency-Key: the same grade for the
 * same one, also of another process. */
int remote_submit(struct remote *remote, const kgrade_request *request, bool reuse,
                  char ret_id[REMOTE_ID_SIZE], bool *ret_reused, kgrade_error *error);

/* Follows a grade until it is done or cancelled, telling progress; then its description (GET /grades/{id}), a new
 * reference, in *ret.  `interrupted` when progress wants to stop. */
int remote_follow(struct remote *remote, const char *id, kgrade_progress progress, void *data,
                  json_t **ret, kgrade_error *error);

/* Cancels, a new reference to the server's answer in *ret. */
int remote_cancel(struct remote *remote, const char *id, json_t **ret, kgrade_error *error);

#endif
