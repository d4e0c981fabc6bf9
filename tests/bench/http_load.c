/*
 * Load for an HTTP server: connections that are kept alive, each with one request under way.
 *
 *     http_load [--connections N] [--seconds S] [--rate R] [--header LINE] URL
 *
 * URL is http://ADDR:PORT/PATH or unix:SOCKET:/PATH.  Prints requests per second, latencies and
 * errors as one line of JSON; exit status 1 when there were errors.  With --rate the requests of a
 * second are spread evenly, and a latency counts from when the request was due.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096u
#define MAX_SECONDS 3600u
#define MAX_RATE 1000000u
#define MAX_LATENCIES (1u << 24)
#define MAX_HEAD 8192u
#define MAX_REQUEST 4096u

struct client {
    int fd;
    uint64_t due_ns; /* of the request under way; 0: there is none */
    size_t head_size;
    size_t body_left; /* once the head is whole */
    bool has_head;
    char head[MAX_HEAD];
};

struct load {
    struct sockaddr_storage address;
    socklen_t address_size;
    char request[MAX_REQUEST];
    size_t request_size;
    unsigned connections, seconds, rate;
    struct client *clients;
    int epoll;
    uint64_t began_ns, sent;
    uint64_t done, refused, broken; /* answers of 2xx, other answers, connections lost */
    uint32_t *latencies_us;
    size_t n_latencies;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "http_load: %s\n", what);
    exit(2);
}

static const char *set_address(struct load *l, char *url)
{
    static const char http[] = "http://", local[] = "unix:";
    if (!strncmp(url, local, sizeof local - 1)) {
        struct sockaddr_un *a = (struct sockaddr_un *)&l->address;
        char *path = url + sizeof local - 1, *end = strchr(path, ':');
        if (!end || (size_t)(end - path) >= sizeof a->sun_path)
            die("a URL is unix:SOCKET:/PATH");
        a->sun_family = AF_UNIX;
        memcpy(a->sun_path, path, (size_t)(end - path));
        l->address_size = sizeof *a;
        return end + 1;
    }
    struct sockaddr_in *a = (struct sockaddr_in *)&l->address;
    char host[64];
    unsigned port;
    int used = 0;
    if (strncmp(url, http, sizeof http - 1) ||
        sscanf(url + sizeof http - 1, "%63[0-9.]:%u%n", host, &port, &used) != 2 ||
        inet_pton(AF_INET, host, &a->sin_addr) != 1)
        die("a URL is http://ADDR:PORT/PATH, with an IPv4 address");
    a->sin_family = AF_INET;
    a->sin_port = htons((in_port_t)port);
    l->address_size = sizeof *a;
    return url + sizeof http - 1 + used;
}

static void dial(struct load *l, struct client *c)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int on = 1;
    c->fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&l->address, l->address_size))
        die(strerror(errno));
    if (l->address.ss_family == AF_INET)
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event))
        die(strerror(errno));
    c->due_ns = 0;
    c->head_size = 0;
    c->has_head = false;
}

static void lost(struct load *l, struct client *c)
{
    l->broken++;
    close(c->fd);
    dial(l, c);
}

/* Sends the next request when it is due; requests are small and fit the socket's buffer. */
static void ask(struct load *l, struct client *c)
{
    uint64_t now = now_ns(), due = now;
    if (l->rate)
        due = l->began_ns + l->sent * 1000000000u / l->rate;
    if (c->due_ns || due > now)
        return;
    l->sent++;
    c->due_ns = due;
    if (send(c->fd, l->request, l->request_size, MSG_NOSIGNAL) != (ssize_t)l->request_size)
        lost(l, c);
}

static void answered(struct load *l, struct client *c)
{
    unsigned status = 0;
    sscanf(c->head, "HTTP/1.1 %u", &status);
    if (status >= 200 && status < 300)
        l->done++;
    else
        l->refused++;
    if (l->n_latencies < MAX_LATENCIES)
        l->latencies_us[l->n_latencies++] = (uint32_t)((now_ns() - c->due_ns) / 1000);
    c->due_ns = 0;
    c->head_size = 0;
    c->has_head = false;
}

static void read_head(struct load *l, struct client *c)
{
    c->head[c->head_size] = 0;
    const char *end = strstr(c->head, "\r\n\r\n");
    if (!end) {
        if (c->head_size + 1 >= sizeof c->head)
            lost(l, c);
        return;
    }
    const char *length = strcasestr(c->head, "\r\nContent-Length:");
    size_t size = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    size_t got = c->head_size - (size_t)(end + 4 - c->head);
    c->has_head = true;
    c->body_left = size > got ? size - got : 0;
}

static void hear(struct load *l, struct client *c)
{
    static char body[1 << 16];
    bool in_head = !c->has_head;
    char *to = in_head ? c->head + c->head_size : body;
    size_t room = in_head ? sizeof c->head - 1 - c->head_size : sizeof body;
    ssize_t n = recv(c->fd, to, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        lost(l, c);
        return;
    }
    if (in_head) {
        c->head_size += (size_t)n;
        read_head(l, c);
    } else {
        c->body_left -= (size_t)n < c->body_left ? (size_t)n : c->body_left;
    }
    if (c->has_head && !c->body_left)
        answered(l, c);
}

static void run(struct load *l)
{
    struct epoll_event events[256];
    l->began_ns = now_ns();
    uint64_t end = l->began_ns + l->seconds * 1000000000ull;
    while (now_ns() < end) {
        for (unsigned i = 0; i < l->connections; i++)
            ask(l, &l->clients[i]);
        int n = epoll_wait(l->epoll, events, 256, 1);
        for (int i = 0; i < n; i++)
            hear(l, events[i].data.ptr);
    }
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct load *l, double q)
{
    if (!l->n_latencies)
        return 0;
    return l->latencies_us[(size_t)(q * (double)(l->n_latencies - 1))] / 1e3;
}

static void print(struct load *l)
{
    double seconds = (double)(now_ns() - l->began_ns) / 1e9;
    qsort(l->latencies_us, l->n_latencies, sizeof *l->latencies_us, compare);
    printf("{\"requests_per_s\": %.0f, \"p50_ms\": %.3f, \"p90_ms\": %.3f, \"p99_ms\": %.3f, "
           "\"max_ms\": %.3f, \"answers\": %llu, \"other_status\": %llu, \"broken\": %llu}\n",
           (double)(l->done + l->refused) / seconds, quantile(l, 0.5), quantile(l, 0.9),
           quantile(l, 0.99), quantile(l, 1), (unsigned long long)l->done,
           (unsigned long long)l->refused, (unsigned long long)l->broken);
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (!*text || *end || value < least || value > most)
        die("a number is out of range");
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"connections", required_argument, NULL, 'c'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {"header", required_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct load l = {.connections = 64, .seconds = 10};
    char headers[MAX_REQUEST / 2] = "";
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'c')
            l.connections = number(optarg, 1, MAX_CONNECTIONS);
        else if (option == 's')
            l.seconds = number(optarg, 1, MAX_SECONDS);
        else if (option == 'r')
            l.rate = number(optarg, 1, MAX_RATE);
        else if (option == 'h')
            snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "%s\r\n", optarg);
        else
            die("http_load [--connections N] [--seconds S] [--rate R] [--header LINE] URL");
    }
    if (optind + 1 != argc)
        die("there must be one URL");
    const char *path = set_address(&l, argv[optind]);
    int n = snprintf(l.request, sizeof l.request, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                     *path ? path : "/", headers);
    if (n < 0 || (size_t)n >= sizeof l.request)
        die("the request is too long");
    l.request_size = (size_t)n;
    l.clients = calloc(l.connections, sizeof *l.clients);
    l.latencies_us = malloc(MAX_LATENCIES * sizeof *l.latencies_us);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!l.clients || !l.latencies_us || l.epoll < 0)
        die("out of memory");
    for (unsigned i = 0; i < l.connections; i++)
        dial(&l, &l.clients[i]);
    run(&l);
    print(&l);
    bool good = !l.refused && !l.broken && l.done;
    free(l.clients);
    free(l.latencies_us);
    return good ? 0 : 1;
}
