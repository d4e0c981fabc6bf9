/* Opens shared memory that another process of the machine has left readable for everyone. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../../attack.h"

static void attack(void)
{
    int fd = shm_open(SHARED, O_RDONLY, 0);
    if (fd >= 0 && descriptor_tells(fd))
        breach("shm_open");
    if (file_tells("/dev/shm" SHARED))
        breach("/dev/shm");
}

ATTACK_THEN_NOTHING
