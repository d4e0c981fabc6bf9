/* Leaves a child that answers in the recorder's name a little later. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (fork()) {
        usleep(200000);
        return;
    }
    usleep(50000);
    forge("{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1]}");
    _exit(0);
}

ATTACK_THEN_ADD
