/* Sends progress messages in the recorder's name without end. */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "../../honest.h"

/* A frame of the wire: two lengths, JSON. */
static void forge(const char *json)
{
    uint32_t lengths[2] = {(uint32_t)strlen(json), 0};
    for (int fd = 3; fd < 16; fd++) {
        struct iovec parts[2] = {{lengths, sizeof lengths}, {(void *)json, strlen(json)}};
        if (writev(fd, parts, 2) < 0)
            continue;
    }
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)n, (void)queue;
    for (;;)
        forge("{\"stage\":\"first_call\"}");
}
