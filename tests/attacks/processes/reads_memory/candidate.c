/* Reads the memory of every process it can name, the grader's among them, in search of the secret. */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "../../attack.h"

static int readable(pid_t pid)
{
    char path[64], line[512];
    unsigned long from;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int mem = open(path, O_RDONLY);
    while (maps && fgets(line, sizeof line, maps)) {
        char byte;
        if (sscanf(line, "%lx-%*x r", &from) != 1)
            continue;
        struct iovec to = {&byte, 1}, at = {(void *)from, 1};
        if ((mem >= 0 && pread(mem, &byte, 1, (off_t)from) == 1) ||
            process_vm_readv(pid, &to, 1, &at, 1, 0) == 1)
            return 1;
    }
    return 0;
}

static int reads(void)
{
    DIR *proc = opendir("/proc");
    pid_t parent = getppid();
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != getpid() && pid != parent && readable(pid))
            return 1;
    }
    return readable(GRADER);
}

static void attack(void)
{
    attempt("another process's memory", reads);
}

ATTACK_THEN_NOTHING
