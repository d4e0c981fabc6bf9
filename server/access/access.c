#define _GNU_SOURCE
#include "access.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "tokens.h"

/* Callers without a token whose rate is known at the same time. */
#define MAX_PEERS 1024u
/* Of an Authorization header that is looked at. */
#define MAX_AUTHORIZATION 512u

#define TOKEN_HINT                                                                                 \
    "Send the header `Authorization: Bearer TOKEN`, with the token that the operator gave you."

struct peer {
    char name[ACCESS_NAME_SIZE];
    struct bucket bucket;
};

struct access {
    char *path; /* NULL: no tokens */
    pthread_mutex_t lock;
    struct tokens tokens;        /* lock */
    struct access_limits limits; /* lock */
    struct peer *peers;          /* lock */
    size_t n_peers;              /* lock */
};

int access_open(const char *path, struct access **ret, kgrade_error *err)
{
    struct access *access = calloc(1, sizeof *access);
    if (!access || !(access->peers = calloc(MAX_PEERS, sizeof *access->peers)) ||
        (path && !(access->path = strdup(path)))) {
        if (access)
            free(access->peers);
        free(access);
        return fail(err, "out_of_memory", NULL, "There is no memory for the tokens.");
    }
    pthread_mutex_init(&access->lock, NULL);
    access->limits =
        (struct access_limits){ACCESS_DEFAULT_RATE, ACCESS_DEFAULT_BURST, ACCESS_DEFAULT_QUEUE};
    if (path && tokens_read(path, &access->tokens, err)) {
        access_close(access);
        return -1;
    }
    *ret = access;
    return 0;
}

void access_close(struct access *access)
{
    if (!access)
        return;
    pthread_mutex_destroy(&access->lock);
    tokens_free(&access->tokens);
    free(access->peers);
    free(access->path);
    free(access);
}

int access_reload(struct access *access, kgrade_error *err)
{
    struct tokens tokens;
    if (!access->path)
        return 0;
    if (tokens_read(access->path, &tokens, err))
        return -1;
    pthread_mutex_lock(&access->lock);
    for (size_t i = 0; i < tokens.n_owners; i++) {
        const struct owner *before = tokens_owner(&access->tokens, tokens.owners[i].name);
        if (before)
            tokens.owners[i].bucket = before->bucket;
    }
    struct tokens old = access->tokens;
    access->tokens = tokens;
    pthread_mutex_unlock(&access->lock);
    tokens_free(&old);
    return 0;
}

void access_set_limits(struct access *access, const struct access_limits *limits)
{
    pthread_mutex_lock(&access->lock);
    access->limits = *limits;
    pthread_mutex_unlock(&access->lock);
}

bool access_has_tokens(const struct access *access)
{
    return access->path != NULL;
}

static int unauthorized(const char *message, kgrade_error *err)
{
    return fail(err, "unauthorized", TOKEN_HINT, "%s", message);
}

/* The token within the header's value, not terminated; NULL when it has none. */
static const char *bearer(const char *authorization, size_t *ret_length)
{
    static const char scheme[] = "Bearer";
    size_t length = strnlen(authorization, MAX_AUTHORIZATION + 1);
    if (length > MAX_AUTHORIZATION || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return NULL;
    const char *token = authorization + strlen(scheme);
    size_t spaces = strspn(token, " ");
    token += spaces;
    *ret_length = strcspn(token, " ");
    return spaces && *ret_length && !token[*ret_length + strspn(token + *ret_length, " ")] ? token
                                                                                           : NULL;
}

/* Looks at every token, whichever matches, so that the time does not tell which one. */
static const struct owner *find_owner(const struct tokens *tokens, const struct secret_hash *hash)
{
    const struct owner *found = NULL;
    for (size_t i = 0; i < tokens->n_tokens; i++)
        if (secret_same(&tokens->tokens[i].hash, hash))
            found = &tokens->owners[tokens->tokens[i].owner];
    return found;
}

static int identify_token(struct access *access, const char *authorization,
                          struct access_caller *ret, kgrade_error *err)
{
    if (!authorization)
        return unauthorized("This server wants to know who asks.", err);
    size_t length = 0;
    const char *token = bearer(authorization, &length);
    if (!token)
        return unauthorized("The header Authorization holds no bearer token.", err);
    struct secret_hash hash;
    secret_hash(token, length, &hash);

    pthread_mutex_lock(&access->lock);
    const struct owner *owner = find_owner(&access->tokens, &hash);
    if (owner) {
        *ret = (struct access_caller){
            .role = owner->role,
            .queue = owner->queue ? owner->queue : access->limits.queue,
        };
        memcpy(ret->name, owner->name, sizeof ret->name);
    }
    pthread_mutex_unlock(&access->lock);
    return owner ? 0 : unauthorized("The token is not one of this server's.", err);
}

static void identify_peer(struct access *access, const struct access_peer *peer,
                          struct access_caller *ret)
{
    struct access_caller caller = {.name = "local", .role = ACCESS_AGENT};
    if (peer->is_unix) {
        snprintf(caller.name, sizeof caller.name, "uid:%u", (unsigned)peer->uid);
        caller.role = peer->uid == 0 || peer->uid == geteuid() ? ACCESS_OPERATOR : ACCESS_AGENT;
    }
    pthread_mutex_lock(&access->lock);
    caller.queue = access->limits.queue;
    pthread_mutex_unlock(&access->lock);
    *ret = caller;
}

int access_identify(struct access *access, const char *authorization,
                    const struct access_peer *peer, struct access_caller *ret, kgrade_error *err)
{
    if (access->path)
        return identify_token(access, authorization, ret, err);
    identify_peer(access, peer, ret);
    return 0;
}

/* The bucket of a caller without a token.  Where there is no room for one more, the one that was used
 * longest ago makes place, and before it one that is full, since a new one is the same. */
static struct bucket *peer_bucket(struct access *access, const char *name, const struct rate *rate,
                                  uint64_t now)
{
    struct peer *spare = NULL;
    for (size_t i = 0; i < access->n_peers; i++) {
        struct peer *peer = &access->peers[i];
        if (!strcmp(peer->name, name))
            return &peer->bucket;
        if (bucket_is_full(&peer->bucket, rate, now))
            peer->bucket.at = 0;
        if (!spare || peer->bucket.at < spare->bucket.at)
            spare = peer;
    }
    if (access->n_peers < MAX_PEERS)
        spare = &access->peers[access->n_peers++];
    *spare = (struct peer){0};
    snprintf(spare->name, sizeof spare->name, "%s", name);
    return &spare->bucket;
}

int access_admit(struct access *access, const struct access_caller *caller, unsigned n,
                 unsigned *ret_retry_s, kgrade_error *err)
{
    uint64_t now = io_now();
    unsigned retry_s = 0;
    pthread_mutex_lock(&access->lock);
    struct rate rate = {access->limits.rate, access->limits.burst};
    struct owner *owner = tokens_owner(&access->tokens, caller->name);
    if (owner && owner->rate)
        rate.per_minute = owner->rate;
    if (owner && owner->burst)
        rate.burst = owner->burst;
    struct bucket *bucket = owner ? &owner->bucket : peer_bucket(access, caller->name, &rate, now);
    bool granted = bucket_take(bucket, &rate, n, now, &retry_s);
    pthread_mutex_unlock(&access->lock);
    if (granted)
        return 0;
    *ret_retry_s = retry_s;
    return fail(err, "rate_limited", "Wait as long as Retry-After says.",
                "%s has asked for more than %u grades a minute.", caller->name, rate.per_minute);
}

bool access_may_see(const struct access_caller *caller, const char *owner)
{
    return caller->role == ACCESS_OPERATOR || !strcmp(caller->name, owner);
}

int access_new_token(const char *name, enum access_role role, char ret_token[64],
                     char ret_line[256], kgrade_error *err)
{
    if (!tokens_name_is_good(name))
        return fail(err, "usage", NULL,
                    "'%.70s' is not a name: that is 1 to %d letters, digits, '.', '_' and '-', the "
                    "first a letter or digit; \"local\" is taken.",
                    name, ACCESS_NAME_SIZE - 1);
    char token[SECRET_TOKEN_LENGTH + 1], hex[SECRET_HASH_DIGITS + 1];
    struct secret_hash hash;
    secret_new(token);
    secret_hash(token, SECRET_TOKEN_LENGTH, &hash);
    secret_to_hex(&hash, hex);
    memcpy(ret_token, token, sizeof token);
    snprintf(ret_line, 256, "%-15s %-8s %s", name, access_role_name(role), hex);
    explicit_bzero(token, sizeof token);
    return 0;
}
