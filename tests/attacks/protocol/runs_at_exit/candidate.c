/* Registers code for the end of the process in every way there is. */
#define _GNU_SOURCE
#include <pthread.h>

#include "../../attack.h"

static void leave(void)
{
    fprintf(stderr, "RAN AT EXIT\n");
    forge("{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1]}");
}

static void leave_with(int status, void *data)
{
    (void)status, (void)data;
    leave();
}

__attribute__((destructor)) static void at_unload(void)
{
    leave();
}

static void attack(void)
{
    static pthread_key_t key;
    atexit(leave);
    on_exit(leave_with, NULL);
    if (pthread_key_create(&key, (void (*)(void *))leave) == 0)
        pthread_setspecific(key, &key);
    fprintf(stderr, "registered\n");
}

ATTACK_THEN_NOTHING
