/* Looks for the machine's sockets in /proc/net. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const files[] = {"/proc/net/unix", "/proc/net/tcp", "/proc/1/net/unix",
                                        "/proc/self/net/unix"};
    static char text[1 << 20];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int fd = open(files[i], O_RDONLY);
        size_t n = 0;
        for (ssize_t k = 1; fd >= 0 && k > 0 && n<sizeof text; n += k> 0 ? (size_t)k : 0)
            k = read(fd, text + n, sizeof text - n);
        if (memmem(text, n, ABSTRACT_NAME, sizeof ABSTRACT_NAME - 1))
            breach(files[i]);
    }
}

ATTACK_THEN_NOTHING
