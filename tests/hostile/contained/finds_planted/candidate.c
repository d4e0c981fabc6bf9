/* Looks for what the grade before it has left. */
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
            if (access(places[i], F_OK) == 0)
                breach(places[i]);
        if (shm_open("/kgrade-planted-shm", O_RDWR, 0) >= 0)
            breach("shared memory");
        if (shmget(0x6b677261, 4096, 0) >= 0)
            breach("System V shared memory");
    }
    add_honestly(a, b, c, n, queue);
}
