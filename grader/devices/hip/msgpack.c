#include "msgpack.h"

#include <string.h>

static size_t left(const struct msgpack *m)
{
    return (size_t)(m->end - m->at);
}

/* A big-endian number of 1, 2, 4 or 8 bytes. */
static bool number(struct msgpack *m, size_t bytes, uint64_t *ret)
{
    uint64_t n = 0;
    if (left(m) < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | *m->at++;
    *ret = n;
    return true;
}

static bool signed_number(struct msgpack *m, size_t bytes, struct msgpack_item *ret)
{
    if (!number(m, bytes, &ret->n))
        return false;
    bool negative = ret->n >> (bytes * 8 - 1);
    if (negative && bytes < 8)
        ret->n |= UINT64_MAX << (bytes * 8);
    ret->kind = negative ? MSGPACK_NEGATIVE : MSGPACK_UNSIGNED;
    return true;
}

/* Of strings and binaries, whose length is in ret->n. */
static bool contents(struct msgpack *m, enum msgpack_kind kind, struct msgpack_item *ret)
{
    if (ret->n > left(m))
        return false;
    ret->kind = kind;
    ret->data = m->at;
    m->at += ret->n;
    return true;
}

/* An element takes a byte at least, a pair two. */
static bool container(const struct msgpack *m, enum msgpack_kind kind, struct msgpack_item *ret)
{
    ret->kind = kind;
    return ret->n <= left(m) / (kind == MSGPACK_MAP ? 2 : 1);
}

/* An extension's type is a byte before its contents. */
static bool extension(struct msgpack *m, struct msgpack_item *ret)
{
    uint64_t type;
    return number(m, 1, &type) && contents(m, MSGPACK_BINARY, ret);
}

static bool other(struct msgpack *m, uint8_t head, struct msgpack_item *ret)
{
    switch (head) {
    case 0xc0:
        ret->kind = MSGPACK_NIL;
        return true;
    case 0xc2:
    case 0xc3:
        ret->kind = MSGPACK_BOOL;
        ret->n = head & 1;
        return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return number(m, (size_t)1 << (head - 0xc4), &ret->n) && contents(m, MSGPACK_BINARY, ret);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return number(m, (size_t)1 << (head - 0xc7), &ret->n) && extension(m, ret);
    case 0xca:
    case 0xcb:
        ret->kind = MSGPACK_FLOAT;
        return number(m, (size_t)4 << (head - 0xca), &ret->n);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        ret->kind = MSGPACK_UNSIGNED;
        return number(m, (size_t)1 << (head - 0xcc), &ret->n);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return signed_number(m, (size_t)1 << (head - 0xd0), ret);
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        ret->n = (uint64_t)1 << (head - 0xd4);
        return extension(m, ret);
    case 0xd9:
    case 0xda:
    case 0xdb:
        return number(m, (size_t)1 << (head - 0xd9), &ret->n) && contents(m, MSGPACK_STRING, ret);
    case 0xdc:
    case 0xdd:
        return number(m, (size_t)2 << (head - 0xdc), &ret->n) && container(m, MSGPACK_ARRAY, ret);
    case 0xde:
    case 0xdf:
        return number(m, (size_t)2 << (head - 0xde), &ret->n) && container(m, MSGPACK_MAP, ret);
    default: /* 0xc1 is never used */
        return false;
    }
}

bool msgpack_next(struct msgpack *m, struct msgpack_item *ret)
{
    struct msgpack_item item = {0};
    bool good = false;
    if (m->at == m->end)
        return false;
    uint8_t head = *m->at++;
    if (head < 0x80) {
        item = (struct msgpack_item){.kind = MSGPACK_UNSIGNED, .n = head};
        good = true;
    } else if (head < 0x90) {
        item.n = head & 0x0f;
        good = container(m, MSGPACK_MAP, &item);
    } else if (head < 0xa0) {
        item.n = head & 0x0f;
        good = container(m, MSGPACK_ARRAY, &item);
    } else if (head < 0xc0) {
        item.n = head & 0x1f;
        good = contents(m, MSGPACK_STRING, &item);
    } else if (head >= 0xe0) {
        item = (struct msgpack_item){.kind = MSGPACK_NEGATIVE, .n = UINT64_MAX << 8 | head};
        good = true;
    } else {
        good = other(m, head, &item);
    }
    if (good)
        *ret = item;
    return good;
}

bool msgpack_skip(struct msgpack *m, unsigned max_depth)
{
    struct msgpack_item item;
    if (!msgpack_next(m, &item))
        return false;
    if (item.kind != MSGPACK_ARRAY && item.kind != MSGPACK_MAP)
        return true;
    if (max_depth == 0)
        return false;
    uint64_t n = item.kind == MSGPACK_MAP ? item.n * 2 : item.n;
    for (uint64_t i = 0; i < n; i++)
        if (!msgpack_skip(m, max_depth - 1))
            return false;
    return true;
}

bool msgpack_is(const struct msgpack_item *item, const char *text)
{
    size_t n = strlen(text);
    return item->kind == MSGPACK_STRING && item->n == n && !memcmp(item->data, text, n);
}
