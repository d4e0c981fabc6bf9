/* Answers with a recording of three million nodes. */
#define _GNU_SOURCE
#include "../../attack.h"

static void send_all(const void *data, size_t n)
{
    const char *from = (const char *)data;
    while (n > 0) {
        ssize_t k = write(3, from, n);
        if (k < 0 && errno != EAGAIN)
            return;
        from += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

static void attack(void)
{
    static const char answer[] = "{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1]}",
                      node[] = "{\"kind\":\"empty\"},";
    static const char head[] =
        "{\"format\":1,\"device\":\"opencl\",\"task\":\"short_add\",\"n_params\":5,\"n_dims\":1,"
        "\"blobs\":[],\"images\":[],\"calls\":[{\"dims\":[1000],\"buffers\":[],\"globals\":[],"
        "\"nodes\":[";
    static const char tail[] = "{\"kind\":\"empty\"}],\"edges\":[]}]}";
    const size_t times = 3000000, size = times * (sizeof node - 1);
    char *nodes = (char *)malloc(size);
    unsigned long long length = sizeof head - 1 + size + sizeof tail - 1;
    uint32_t lengths[2] = {sizeof answer - 1, (uint32_t)(16 + length)};
    if (!nodes)
        return;
    for (size_t i = 0; i < times; i++)
        memcpy(nodes + i * (sizeof node - 1), node, sizeof node - 1);
    send_all(lengths, sizeof lengths);
    send_all(answer, sizeof answer - 1);
    send_all("KGRADE1\n", 8);
    send_all(&length, 8);
    send_all(head, sizeof head - 1);
    send_all(nodes, size);
    send_all(tail, sizeof tail - 1);
    for (;;)
        pause();
}

ATTACK_THEN_NOTHING
