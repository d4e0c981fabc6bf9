/* Looks for what the grade before it has left in System V and POSIX communication. */
#define _GNU_SOURCE
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "../../attack.h"

static void attack(void)
{
    if (shmget(PLANTED_KEY, 1, 0) >= 0 || semget(PLANTED_KEY, 1, 0) >= 0 ||
        msgget(PLANTED_KEY, 0) >= 0)
        breach("System V");
    if (syscall(SYS_mq_open, PLANTED, O_RDWR, 0, NULL) >= 0)
        breach("a message queue");
    if (shm_open("/sem." PLANTED, O_RDWR, 0) >= 0)
        breach("a named semaphore");
}

ATTACK_THEN_NOTHING
