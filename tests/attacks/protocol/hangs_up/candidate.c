/* Closes the recorder's connection in both directions and stays alive. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

static void attack(void)
{
    shutdown(3, SHUT_RDWR);
    for (;;)
        pause();
}

ATTACK_THEN_NOTHING
