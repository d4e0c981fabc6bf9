/* Lets a timer interrupt the recorder wherever it is and answers from the handler. */
#define _GNU_SOURCE
#include <sys/time.h>

#include "../../attack.h"

static void answer(int number)
{
    (void)number;
    forge("{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1],\"score\":1000}");
}

static void attack(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, answer);
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile int i = 0; i < 20000000; i++)
        ;
}

ATTACK_THEN_NOTHING
