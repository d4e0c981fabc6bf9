/* Looks for what the grade before it has left. */
#define _GNU_SOURCE
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "../../attack.h"

static const char *const places[] = {
    "/tmp/" PLANTED, "/dev/shm/" PLANTED, "/" PLANTED,         "/var/tmp/" PLANTED,
    PLANTED,         "/dev/" PLANTED,     "/usr/lib/" PLANTED, "/etc/" PLANTED};

static void attack(void)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], F_OK) == 0)
            breach(places[i]);
    if (shm_open("/" PLANTED "-shm", O_RDWR, 0) >= 0)
        breach("shared memory");
    if (shmget(PLANTED_KEY, 4096, 0) >= 0)
        breach("System V shared memory");
}

ATTACK_THEN_NOTHING
