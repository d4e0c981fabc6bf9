/* Leaves files, shared memory and System V segments for the next grade, and overwrites its own library. */
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
        open(places[i], O_CREAT | O_RDWR, 0666);
    shm_open("/" PLANTED "-shm", O_CREAT | O_RDWR, 0666);
    shmget(PLANTED_KEY, 4096, IPC_CREAT | 0666);
    mkdir("/tmp/" PLANTED "-folder", 0777);
    symlink("/etc/shadow", "/tmp/" PLANTED "-link");
    mkfifo("/tmp/" PLANTED "-fifo", 0666);
    int own = open("/candidate.so", O_WRONLY);
    if (own >= 0)
        breach("/candidate.so is writable");
}

ATTACK_THEN_NOTHING
