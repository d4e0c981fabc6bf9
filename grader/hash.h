/* SHA-256, as lower-case hex. */
#ifndef KGRADE_HASH_H
#define KGRADE_HASH_H

#include <stddef.h>

#define HASH_HEX 65

void hash_hex(const void *data, size_t size, char ret[HASH_HEX]);

/* Hash of several parts, each preceded by its length, so that no two lists collide. */
struct hash_part {
    const void *data;
    size_t size;
};
void hash_parts(const struct hash_part *parts, size_t n, char ret[HASH_HEX]);

#endif
