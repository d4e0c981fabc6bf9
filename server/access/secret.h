/* Tokens and their hashes.  A token is 256 random bits, so one SHA-256 is as good as a slow hash. */
#ifndef KGRADED_SECRET_H
#define KGRADED_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_HASH_BYTES 32
#define SECRET_HASH_DIGITS 64
#define SECRET_TOKEN_LENGTH 43 /* 32 bytes in base64url without padding */

struct secret_hash {
    uint8_t bytes[SECRET_HASH_BYTES];
};

void secret_hash(const char *token, size_t length, struct secret_hash *ret);

/* From SECRET_HASH_DIGITS hex digits; false when text is anything else. */
bool secret_from_hex(const char *text, struct secret_hash *ret);
void secret_to_hex(const struct secret_hash *hash, char ret[SECRET_HASH_DIGITS + 1]);

/* In a time that does not depend on where they differ. */
bool secret_same(const struct secret_hash *a, const struct secret_hash *b);

/* A new token. */
void secret_new(char ret[SECRET_TOKEN_LENGTH + 1]);

#endif
