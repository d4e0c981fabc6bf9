/* Takes the grader's next request from under the recorder's hands and answers in its place. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

static void attack(void)
{
    if (fork())
        return;
    for (;;) {
        static char request[1 << 16];
        if (recv(3, request, sizeof request, 0) <= 0)
            _exit(0);
        forge("{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1],\"load_ns\":1}");
    }
}

ATTACK_THEN_ADD
