/* Fills its memory, its buffers and the files it may write with a pattern, and crashes so that nobody tidies up. */
#define _GNU_SOURCE
#define MARKER 1, 20, 38, 7, 66, 93, 41, 160, 201, 13, 77, 250, 88, 31, 9, 144

#include "../../attack.h"

static void attack(void)
{
    static const unsigned char masked[] = {MARKER};
    enum { SIZE = 16 << 20 };
    for (int i = 0; i < 8; i++) {
        unsigned char *p = (unsigned char *)malloc(SIZE);
        for (size_t k = 0; p && k < SIZE; k++)
            p[k] = masked[k % sizeof masked] ^ MASK;
        int fd = open(i % 2 ? "/tmp/" PLANTED : "/dev/shm/" PLANTED, O_CREAT | O_WRONLY, 0666);
        if (p && fd >= 0 && write(fd, p, 1 << 20) < 0)
            break;
    }
    abort();
}

ATTACK_THEN_NOTHING
