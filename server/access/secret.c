#define _GNU_SOURCE
#include "secret.h"

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>

#include "../../sandbox/base/io.h"

_Static_assert(SECRET_HASH_BYTES == SHA256_DIGEST_SIZE, "the hash is SHA-256");

void secret_hash(const char *token, size_t length, struct secret_hash *ret)
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, length, (const uint8_t *)token);
    sha256_digest(&context, sizeof ret->bytes, ret->bytes);
    explicit_bzero(&context, sizeof context);
}

bool secret_from_hex(const char *text, struct secret_hash *ret)
{
    struct base16_decode_ctx context;
    size_t size = sizeof ret->bytes;
    /* The decoder passes over white space, which is no digit. */
    if (strspn(text, "0123456789abcdefABCDEF") != SECRET_HASH_DIGITS || text[SECRET_HASH_DIGITS])
        return false;
    base16_decode_init(&context);
    return base16_decode_update(&context, &size, ret->bytes, SECRET_HASH_DIGITS, text) &&
           base16_decode_final(&context) && size == sizeof ret->bytes;
}

void secret_to_hex(const struct secret_hash *hash, char ret[SECRET_HASH_DIGITS + 1])
{
    base16_encode_update(ret, sizeof hash->bytes, hash->bytes);
    ret[SECRET_HASH_DIGITS] = 0;
}

bool secret_same(const struct secret_hash *a, const struct secret_hash *b)
{
    return memeql_sec(a->bytes, b->bytes, sizeof a->bytes);
}

void secret_new(char ret[SECRET_TOKEN_LENGTH + 1])
{
    uint8_t bytes[32];
    char text[BASE64_ENCODE_LENGTH(sizeof bytes) + BASE64_ENCODE_FINAL_LENGTH];
    struct base64_encode_ctx context;
    io_random(bytes, sizeof bytes);
    base64url_encode_init(&context);
    size_t length = base64_encode_update(&context, text, sizeof bytes, bytes);
    base64_encode_final(&context, text + length);
    memcpy(ret, text, SECRET_TOKEN_LENGTH);
    ret[SECRET_TOKEN_LENGTH] = 0;
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text, sizeof text);
    explicit_bzero(&context, sizeof context);
}
