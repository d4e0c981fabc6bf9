/* Reads whatever is behind each of its descriptors, and climbs out of those that are folders. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static unsigned char text[1 << 20];
    for (int fd = 0; fd < 4096; fd++) {
        struct stat st;
        if (fstat(fd, &st))
            continue;
        ssize_t n = S_ISREG(st.st_mode) ? pread(fd, text, sizeof text, 0) : 0;
        if (n > 0 && (holds_secret(text, (size_t)n) || holds_reference(text, (size_t)n)))
            breach("a file with a secret is open");
        int out = S_ISDIR(st.st_mode) ? openat(fd, "../../../../../../.." NEIGHBOUR, O_RDONLY) : -1;
        if (out >= 0)
            breach("a folder outside is open");
    }
}

ATTACK_THEN_NOTHING
