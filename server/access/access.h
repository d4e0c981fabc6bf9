/*
 * Who may do what: bearer tokens, roles, quotas and rates.
 *
 * Tokens live in a file (or a systemd credential), one line each, as SHA-256: the token itself is nowhere.
 *
 *     # name     role      sha256 of the token                     options
 *     alice      agent     9f86d081884c7d659a2feaa0c55ad015...     rate=60 burst=20 queue=16
 *     ops        operator  60303ae22b998861bce3b28f33eec1be...
 *
 * rate: requests to grade per minute; burst: how many at once; queue: jobs that may wait.  Without a token file, who can
 * reach the listener is served: over a Unix socket root and the server's own user as operators, others as the agent
 * "uid:N"; over loopback TCP everybody as the agent "local".
 *
 * All functions may be called from any thread.
 */
#ifndef KGRADED_ACCESS_H
#define KGRADED_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../sandbox/base/error.h"

#define ACCESS_NAME_SIZE 64
#define ACCESS_MAX_TOKENS 10000u
#define ACCESS_DEFAULT_RATE 600u /* per minute */
#define ACCESS_DEFAULT_BURST 100u
#define ACCESS_DEFAULT_QUEUE 64u

enum access_role { ACCESS_AGENT, ACCESS_OPERATOR };

/* Who a request is from. */
struct access_caller {
    char name[ACCESS_NAME_SIZE];
    enum access_role role;
    unsigned queue; /* jobs that may wait */
};

struct access_peer {
    bool is_unix; /* else TCP */
    uid_t uid;    /* of the peer of a Unix socket */
};

struct access;

/* path NULL: no tokens.  Errors: `tokens_unreadable`, `tokens_invalid` (the message names the line, the hint the fix). */
int access_open(const char *path, struct access **ret, kgrade_error *err);
void access_close(struct access *access);

/* Reads the file again; on error everything stays as it was.  Rates that are used up stay used up. */
int access_reload(struct access *access, kgrade_error *err);

/* What holds for callers whose token does not say, and for those without one.  At first the defaults. */
struct access_limits {
    unsigned rate, burst, queue;
};
void access_set_limits(struct access *access, const struct access_limits *limits);

bool access_has_tokens(const struct access *access);

/* authorization: the header's value or NULL.  Compares in constant time over all tokens.  Error: `unauthorized`. */
int access_identify(struct access *access, const char *authorization,
                    const struct access_peer *peer, struct access_caller *ret, kgrade_error *err);

/* Takes n requests from the caller's rate; a batch larger than burst is granted when burst requests would be, and
 * then held against the rate.  Error: `rate_limited`, with *ret_retry_s until it would be granted. */
int access_admit(struct access *access, const struct access_caller *caller, unsigned n,
                 unsigned *ret_retry_s, kgrade_error *err);

/* Whether caller may see what belongs to owner. */
bool access_may_see(const struct access_caller *caller, const char *owner);

/* A new token (43 characters, 256 random bits) and the line for the file. */
int access_new_token(const char *name, enum access_role role, char ret_token[64],
                     char ret_line[256], kgrade_error *err);

#endif
