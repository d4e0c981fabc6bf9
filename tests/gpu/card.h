/* Whether there is a card to test on. */
#ifndef KGRADE_TESTS_GPU_CARD_H
#define KGRADE_TESTS_GPU_CARD_H

#include <stdio.h>
#include <unistd.h>

#define SKIPPED 77

static inline int have_card(void)
{
    if (!access("/dev/nvidiactl", F_OK))
        return 1;
    puts("skipped: there is no /dev/nvidiactl");
    return 0;
}

#endif
