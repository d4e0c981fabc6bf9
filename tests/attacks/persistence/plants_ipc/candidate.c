/* Leaves System V memory, semaphores and queues, a POSIX queue and a named semaphore. */
#define _GNU_SOURCE
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "../../attack.h"

static void attack(void)
{
    shmget(PLANTED_KEY, 4096, IPC_CREAT | 0666);
    semget(PLANTED_KEY, 1, IPC_CREAT | 0666);
    msgget(PLANTED_KEY, IPC_CREAT | 0666);
    syscall(SYS_mq_open, PLANTED, O_CREAT | O_RDWR, 0666, NULL);
    int fd = shm_open("/sem." PLANTED, O_CREAT | O_RDWR, 0666);
    if (fd >= 0 && write(fd, PLANTED, sizeof PLANTED) < 0)
        return;
}

ATTACK_THEN_NOTHING
