/* Looks for processes other than the jail's first and itself, after a grade that has left daemons. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != getpid())
            breach(entry->d_name);
    }
}

ATTACK_THEN_NOTHING
