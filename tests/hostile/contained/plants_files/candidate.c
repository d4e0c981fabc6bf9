/* Leaves files, shared memory and System V segments for the next grade, and overwrites its own library. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "../../honest.h"

static const char *const places[] = {"/tmp/kgrade-planted",     "/dev/shm/kgrade-planted",
                                     "/kgrade-planted",         "/var/tmp/kgrade-planted",
                                     "kgrade-planted",          "/dev/kgrade-planted",
                                     "/usr/lib/kgrade-planted", "/etc/kgrade-planted"};

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            open(places[i], O_CREAT | O_RDWR, 0666);
        shm_open("/kgrade-planted-shm", O_CREAT | O_RDWR, 0666);
        shmget(0x6b677261, 4096, IPC_CREAT | 0666);
        mkdir("/tmp/kgrade-planted-folder", 0777);
        symlink("/etc/shadow", "/tmp/kgrade-planted-link");
        mkfifo("/tmp/kgrade-planted-fifo", 0666);
        int own = open("/candidate.so", O_WRONLY);
        if (own >= 0)
            breach("/candidate.so is writable");
    }
    add_honestly(a, b, c, n, queue);
}
