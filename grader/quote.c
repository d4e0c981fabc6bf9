#define _GNU_SOURCE
#include "quote.h"

#include <string.h>

struct quoted quote(const char *text)
{
    struct quoted q;
    size_t n = text ? strnlen(text, QUOTE_MAX_BYTES) : 0;
    if (n > 0 && text[n])
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    if (n > 0)
        memcpy(q.text, text, n);
    q.text[n] = 0;
    return q;
}
