/* Searches /proc for processes of the grader and for secrets in their environment. */
#define _GNU_SOURCE

#include "../../attack.h"

static int holds(const char *pid, const char *file, const char *what)
{
    static char text[1 << 16];
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && memmem(text, (size_t)n, what, strlen(what)) != NULL;
}

static void attack(void)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (strtol(entry->d_name, NULL, 10) == GRADER ||
            holds(entry->d_name, "cmdline", "run_case") ||
            holds(entry->d_name, "cmdline", "kgraded") ||
            holds(entry->d_name, "environ", "KGRADE_TEST_SECRET"))
            breach(entry->d_name);
    }
}

ATTACK_THEN_NOTHING
