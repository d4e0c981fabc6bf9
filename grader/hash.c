#include "hash.h"

#include <nettle/sha2.h>
#include <stdint.h>

static void finish(struct sha256_ctx *context, char ret[HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[2 * sizeof digest] = 0;
}

void hash_hex(const void *data, size_t size, char ret[HASH_HEX])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, size, data);
    finish(&context, ret);
}

void hash_parts(const struct hash_part *parts, size_t n, char ret[HASH_HEX])
{
    struct sha256_ctx context;
    sha256_init(&context);
    for (size_t i = 0; i < n; i++) {
        uint8_t length[8];
        for (size_t b = 0; b < sizeof length; b++)
            length[b] = (uint8_t)((uint64_t)parts[i].size >> (8 * b));
        sha256_update(&context, sizeof length, length);
        sha256_update(&context, parts[i].size, parts[i].data);
    }
    finish(&context, ret);
}
