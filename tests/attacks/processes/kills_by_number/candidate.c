/* Asks for every process number whether it may send a signal there. */
#define _GNU_SOURCE
#include "../../attack.h"

static int is_own(int pid)
{
    char path[64], line[256];
    int group = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "Tgid: %d", &group) != 1)
        ;
    if (status)
        fclose(status);
    return group == getpid();
}

static void attack(void)
{
    int last = GRADER > 70000 ? GRADER : 70000;
    for (int pid = 2; pid <= last; pid++)
        if (kill(pid, 0) == 0 && !is_own(pid))
            breach("a process that it may kill");
}

ATTACK_THEN_NOTHING
