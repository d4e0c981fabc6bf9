/* Names from outside, for messages. */
#ifndef KGRADE_QUOTE_H
#define KGRADE_QUOTE_H

#define QUOTE_MAX_BYTES 64

struct quoted {
    char text[QUOTE_MAX_BYTES + 1];
};

/* At most QUOTE_MAX_BYTES of UTF-8 text, cut between characters; "" for NULL. */
struct quoted quote(const char *text);

#endif
