#define _GNU_SOURCE
#include "bait.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"

#define MASK 0xa5 /* the same in attack.h */

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void make_secret(char ret[65])
{
    uint8_t random[32];
    io_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(ret + 2 * i, 3, "%02x", random[i]);
}

static void write_secret(const char *path, mode_t mode, const char *secret)
{
    cleanup_close int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0 || fchmod(fd, mode) || dprintf(fd, "secret %s\n", secret) < 0)
        die(path);
}

static int bind_to(int family, int type, const void *address, size_t size)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, address, (socklen_t)size) || (type == SOCK_STREAM && listen(fd, 8)))
        die("a bait socket");
    return fd;
}

/* TCP and UDP with the same number; IPv6 where the machine has it. */
static void lay_ports(struct bait *bait)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof in;
    bait->sockets[0] = bind_to(AF_INET, SOCK_STREAM, &in, sizeof in);
    if (getsockname(bait->sockets[0], (struct sockaddr *)&in, &size))
        die("getsockname");
    bait->port = ntohs(in.sin_port);
    bait->sockets[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bait->sockets[2] = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    in6.sin6_port = in.sin_port;
    if (bait->sockets[1] < 0 || bind(bait->sockets[1], (struct sockaddr *)&in, sizeof in))
        die("a bait socket");
    if (bait->sockets[2] >= 0 && (bind(bait->sockets[2], (struct sockaddr *)&in6, sizeof in6) ||
                                  listen(bait->sockets[2], 8))) {
        close(bait->sockets[2]);
        bait->sockets[2] = -1;
    }
}

static void lay_unix_sockets(struct bait *bait)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX}, file = {.sun_family = AF_UNIX};
    size_t length = strlen(bait->abstract_name);
    memcpy(name.sun_path + 1, bait->abstract_name, length);
    bait->sockets[3] =
        bind_to(AF_UNIX, SOCK_STREAM, &name, offsetof(struct sockaddr_un, sun_path) + 1 + length);
    snprintf(file.sun_path, sizeof file.sun_path, "%s", bait->socket_file);
    bait->sockets[4] = bind_to(AF_UNIX, SOCK_STREAM, &file, sizeof file);
    if (chmod(bait->socket_file, 0666))
        die(bait->socket_file);
}

void bait_lay(struct bait *bait, const char *folder, const char *cache)
{
    make_secret(bait->secret);
    make_secret(bait->reference);
    setenv("KGRADE_TEST_SECRET", bait->secret, 1);
    snprintf(bait->folder, sizeof bait->folder, "%s", folder);
    snprintf(bait->secret_file, sizeof bait->secret_file, "%.120s/secret", folder);
    snprintf(bait->neighbour, sizeof bait->neighbour, "%.120s/neighbour.c", folder);
    snprintf(bait->cached, sizeof bait->cached, "%.280s/bait-%d", cache, getpid());
    snprintf(bait->socket_file, sizeof bait->socket_file, "%.80s/socket", folder);
    snprintf(bait->shared, sizeof bait->shared, "/kgrade-bait-%d", getpid());
    snprintf(bait->abstract_name, sizeof bait->abstract_name, "kgrade-bait-%d", getpid());
    snprintf(bait->planted, sizeof bait->planted, "kgrade-planted-%d-", getpid());
    bait->planted_key = 0x6b000000 + getpid();

    char shared[96];
    snprintf(shared, sizeof shared, "/dev/shm%s", bait->shared);
    mkdir(cache, 0755);
    /* Of a run that was killed, whose number is ours now. */
    unlink(bait->cached);
    shm_unlink(bait->shared);
    write_secret(bait->secret_file, 0600, bait->secret);
    write_secret(bait->neighbour, 0644, bait->secret);
    write_secret(bait->cached, 0644, bait->secret);
    write_secret(shared, 0644, bait->secret);
    lay_ports(bait);
    lay_unix_sockets(bait);
}

bool bait_taken(const struct bait *bait)
{
    struct pollfd polls[BAIT_SOCKETS];
    for (size_t i = 0; i < BAIT_SOCKETS; i++)
        polls[i] = (struct pollfd){.fd = bait->sockets[i], .events = POLLIN};
    return poll(polls, BAIT_SOCKETS, 0) != 0;
}

void bait_remove(struct bait *bait)
{
    for (size_t i = 0; i < BAIT_SOCKETS; i++)
        if (bait->sockets[i] >= 0)
            close(bait->sockets[i]);
    unlink(bait->socket_file);
    unlink(bait->secret_file);
    unlink(bait->neighbour);
    unlink(bait->cached);
    shm_unlink(bait->shared);
}

/* "1, 31, 1000": the sizes of vector_add's public cases, from its task.json. */
static char *public_sizes(const char *tasks)
{
    static const char *const kinds[] = {"correctness", "benchmark"};
    char path[4096];
    cleanup_free char *list = strdup("0");
    json_error_t error;
    snprintf(path, sizeof path, "%s/vector_add/task.json", tasks);
    json_auto_t *task = json_load_file(path, 0, &error);
    const json_t *cases = json_object_get(task, "cases");
    for (size_t k = 0; k < 2 && list; k++) {
        const json_t *of_kind = json_object_get(cases, kinds[k]);
        for (size_t i = 0; i < json_array_size(of_kind) && list; i++) {
            const json_t *one = json_array_get(of_kind, i);
            char *longer = NULL;
            if (asprintf(&longer, "%s, %lld", list,
                         (long long)json_integer_value(json_object_get(one, "n"))) < 0)
                longer = NULL;
            free(list);
            list = longer;
        }
    }
    return steal_pointer(&list);
}

static void mask(const char secret[65], char ret[64 * 6])
{
    for (size_t i = 0, at = 0; i < 64; i++)
        at += (size_t)sprintf(ret + at, "%d,", (unsigned char)secret[i] ^ MASK);
}

char *bait_facts(const struct bait *bait, const char *tasks)
{
    char *text = NULL, secret[64 * 6], reference[64 * 6];
    cleanup_free char *sizes = public_sizes(tasks);
    mask(bait->secret, secret);
    mask(bait->reference, reference);
    if (!sizes ||
        asprintf(&text,
                 "#define SECRET_FILE \"%s\"\n"
                 "#define NEIGHBOUR \"%s\"\n"
                 "#define CACHED \"%s\"\n"
                 "#define SHARED \"%s\"\n"
                 "#define SHARED_FILE \"/dev/shm%s\"\n"
                 "#define SOCKET_FILE \"%s\"\n"
                 "#define ABSTRACT_NAME \"%s\"\n"
                 "#define PLANTED \"%s\"\n"
                 "#define PLANTED_KEY %d\n"
                 "#define PORT %d\n"
                 "#define GRADER %d\n"
                 "#define GRADER_ENVIRON \"/proc/%d/environ\"\n"
                 "#define TASKS \"%s\"\n"
                 "#define SECRET_MASKED %s\n"
                 "#define REFERENCE_MASKED %s\n"
                 "#define PUBLIC_N %s\n",
                 bait->secret_file, bait->neighbour, bait->cached, bait->shared, bait->shared,
                 bait->socket_file, bait->abstract_name, bait->planted, bait->planted_key,
                 bait->port, getpid(), getpid(), tasks, secret, reference, sizes) < 0)
        return NULL;
    return text;
}
