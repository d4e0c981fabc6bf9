#define _GNU_SOURCE
#include "candidate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"

#define INCLUDE_LINE "#include \"../../honest.h\"\n"
#define MAX_FILE_BYTES (1u << 20)

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int listen_at(int family, const void *address, size_t size)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, address, (socklen_t)size) || listen(fd, 8))
        die("a bait socket");
    return fd;
}

void bait_lay(struct bait *bait, const char *folder)
{
    uint8_t random[32];
    io_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(bait->secret + 2 * i, 3, "%02x", random[i]);
    snprintf(bait->secret_file, sizeof bait->secret_file, "%s/secret", folder);
    cleanup_close int fd = open(bait->secret_file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%s\n", bait->secret) < 0)
        die(bait->secret_file);
    setenv("KGRADE_TEST_SECRET", bait->secret, 1);

    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    bait->sockets[0] = listen_at(AF_INET, &in, sizeof in);
    if (getsockname(bait->sockets[0], (struct sockaddr *)&in, &size))
        die("getsockname");
    bait->port = ntohs(in.sin_port);

    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(bait->abstract_name, sizeof bait->abstract_name, "kgrade-bait-%d", getpid());
    size_t length = strlen(bait->abstract_name);
    memcpy(name.sun_path + 1, bait->abstract_name, length);
    bait->sockets[1] =
        listen_at(AF_UNIX, &name, offsetof(struct sockaddr_un, sun_path) + 1 + length);

    struct sockaddr_un file = {.sun_family = AF_UNIX};
    snprintf(bait->socket_file, sizeof bait->socket_file, "%.80s/socket", folder);
    snprintf(file.sun_path, sizeof file.sun_path, "%s", bait->socket_file);
    bait->sockets[2] = listen_at(AF_UNIX, &file, sizeof file);
}

int bait_taken(const struct bait *bait)
{
    struct pollfd polls[3];
    for (size_t i = 0; i < 3; i++)
        polls[i] = (struct pollfd){.fd = bait->sockets[i], .events = POLLIN};
    return poll(polls, 3, 0) != 0;
}

void bait_remove(struct bait *bait)
{
    for (size_t i = 0; i < 3; i++)
        close(bait->sockets[i]);
    unlink(bait->socket_file);
    unlink(bait->secret_file);
}

/* "1, 31, 1000": the sizes of vector_add's public cases, from its task.json. */
static char *public_sizes(const char *tasks)
{
    char path[4096];
    cleanup_free char *list = strdup("0");
    json_error_t error;
    snprintf(path, sizeof path, "%s/vector_add/task.json", tasks);
    json_auto_t *task = json_load_file(path, 0, &error);
    const json_t *cases = json_object_get(task, "cases");
    static const char *const kinds[] = {"correctness", "benchmark"};
    for (size_t k = 0; k < 2 && list; k++) {
        const json_t *list_of_kind = json_object_get(cases, kinds[k]);
        for (size_t i = 0; i < json_array_size(list_of_kind) && list; i++) {
            const json_t *one = json_array_get(list_of_kind, i);
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

static char *facts(const char *tasks, const struct bait *bait)
{
    char *text = NULL;
    cleanup_free char *sizes = public_sizes(tasks);
    if (!sizes || asprintf(&text,
                           "#define SECRET_FILE \"%s\"\n"
                           "#define SOCKET_FILE \"%s\"\n"
                           "#define ABSTRACT_NAME \"%s\"\n"
                           "#define PORT %d\n"
                           "#define TASKS \"%s\"\n"
                           "#define PUBLIC_N %s\n",
                           bait->secret_file, bait->socket_file, bait->abstract_name, bait->port,
                           tasks, sizes) < 0)
        return NULL;
    return text;
}

static int read_text(const char *folder, const char *name, struct bytes *ret)
{
    char path[4096];
    kgrade_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (io_read_file(path, MAX_FILE_BYTES, ret, &error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error.message);
    return -1;
}

char *candidate_source(const char *folder, const char *tasks, const struct bait *bait)
{
    cleanup_bytes struct bytes candidate = {0}, honest = {0};
    cleanup_free char *known = facts(tasks, bait);
    if (!known || read_text(folder, "candidate.c", &candidate) ||
        read_text(folder, "../../honest.h", &honest))
        return NULL;
    char *text = (char *)candidate.data, *include = strstr(text, INCLUDE_LINE), *source = NULL;
    int n;
    if (include)
        n = asprintf(&source, "%.*s%s%s%s", (int)(include - text), text, known,
                     (const char *)honest.data, include + strlen(INCLUDE_LINE));
    else
        n = asprintf(&source, "%s", text);
    return n < 0 ? NULL : source;
}

json_t *candidate_expectation(const char *folder)
{
    static const char *const known[] = {"about",   "task",     "device",    "language",
                                        "verdict", "verdicts", "code",      "codes",
                                        "says",    "absent",   "log",       "forbidden_codes",
                                        "after",   "machine",  "isolation", "max_score"};
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/expect.json", folder);
    json_t *expect = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!expect) {
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
        return NULL;
    }
    const char *key;
    json_t *value;
    json_object_foreach(expect, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || !strcmp(known[i], key);
        if (!found) {
            fprintf(stderr, "%s: \"%s\" is not a known key\n", path, key);
            json_decref(expect);
            return NULL;
        }
    }
    return expect;
}
