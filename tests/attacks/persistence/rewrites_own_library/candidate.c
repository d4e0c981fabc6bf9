/* Writes to the file that it was loaded from, which the grader keeps for the next grade of the same source. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include "../../attack.h"

static void attack(void)
{
    Dl_info info;
    if (!dladdr((void *)attack, &info) || !info.dli_fname)
        return;
    int fd = open(info.dli_fname, O_RDWR);
    if (fd >= 0 && (pwrite(fd, "x", 1, 0) == 1 || ftruncate(fd, 0) == 0))
        breach("its own library");
    if (fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
        breach("a mapping of its own library");
}

ATTACK_THEN_NOTHING
