/* Answers with recordings of nothing at all. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "../../attack.h"

#define MANIFEST                                                                                   \
    "{\"format\":1,\"device\":\"opencl\",\"task\":\"short_add\",\"n_params\":5,\"n_dims\":1,"      \
    "\"blobs\":[],\"images\":[],"                                                                  \
    "\"calls\":[{\"dims\":[%d],\"buffers\":[],\"globals\":[],\"nodes\":[],\"edges\":[]}]}"

/* Plays the recorder for the rest of the grade: answers each request with a recording that it has not made. */
static void play(int n)
{
    static const char answer[] = "{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1]}";
    static char request[1 << 16];
    for (;;) {
        uint32_t lengths[2];
        char body[8192], manifest[4096];
        unsigned long long length =
            (unsigned long long)snprintf(manifest, sizeof manifest, MANIFEST, n);
        size_t at = sizeof answer - 1;
        memcpy(body, answer, at);
        memcpy(body + at, "KGRADE1\n", 8);
        memcpy(body + at + 8, &length, 8);
        memcpy(body + at + 16, manifest, length);
        forge_frame(3, (uint32_t)at, body, at + 16 + length, (uint32_t)(16 + length));
        if (recv(3, lengths, sizeof lengths, MSG_WAITALL) != sizeof lengths ||
            lengths[0] >= sizeof request || recv(3, request, lengths[0], MSG_WAITALL) != lengths[0])
            _exit(0);
        request[lengths[0]] = 0;
        const char *dims = strstr(request, "\"dims\":[");
        n = dims ? atoi(dims + 8) : n;
    }
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)queue;
    play(n);
}
