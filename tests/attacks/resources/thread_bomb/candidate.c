/* Starts threads until it cannot; honest afterwards. */
#include <pthread.h>

#include "../../attack.h"

static void *idle(void *data)
{
    for (;;)
        pause();
    return data;
}

static void attack(void)
{
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, idle, NULL))
            break;
        if (i == 2999)
            breach("3000 threads");
    }
}

ATTACK_THEN_NOTHING
