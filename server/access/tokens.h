/*
 * The token file.  access.h shows what it looks like.
 *
 * Several lines may have the same name, so that an old and a new token of one owner can be good at
 * the same time; role and options must then agree.
 */
#ifndef KGRADED_TOKENS_H
#define KGRADED_TOKENS_H

#include <stddef.h>

#include "access.h"
#include "rate.h"
#include "secret.h"

#define TOKENS_MAX_BYTES (4u << 20)
#define TOKENS_MAX_LINE 512u

/* All lines of one name. */
struct owner {
    char name[ACCESS_NAME_SIZE];
    enum access_role role;
    unsigned rate, burst, queue; /* 0: as everybody */
    unsigned line;
    struct bucket bucket;
};

struct token {
    struct secret_hash hash;
    size_t owner; /* index */
    unsigned line;
};

struct tokens {
    struct owner *owners; /* by name */
    size_t n_owners;
    struct token *tokens;
    size_t n_tokens;
};

/* Reads a file that only its owner can change; warns in the log when others can read it.  Errors:
 * `tokens_unreadable`, `tokens_invalid` (the message begins with FILE:LINE). */
int tokens_read(const char *path, struct tokens *ret, kgrade_error *err);

/* The same for text in memory, which it changes; path is for messages. */
int tokens_parse(const char *path, char *text, size_t size, struct tokens *ret, kgrade_error *err);

void tokens_free(struct tokens *tokens);

/* NULL when there is none. */
struct owner *tokens_owner(const struct tokens *tokens, const char *name);

/* Whether it can be the name of an owner: 1 to 63 letters, digits, '.', '_' and '-', the first a letter
 * or digit; not "local". */
bool tokens_name_is_good(const char *name);

/* "agent" or "operator". */
const char *access_role_name(enum access_role role);
bool access_role_from_name(const char *name, enum access_role *ret);

#endif
