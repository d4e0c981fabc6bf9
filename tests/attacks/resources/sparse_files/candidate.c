/* Makes files of a terabyte that have nothing in them. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../../attack.h"

static int grows_file(void)
{
    int fd = open("/tmp/" PLANTED "-sparse", O_CREAT | O_RDWR, 0600);
    return fd >= 0 && ftruncate(fd, 1ll << 40) == 0;
}

static int grows_memory_file(void)
{
    int fd = memfd_create("sparse", 0);
    return fd >= 0 && ftruncate(fd, 1ll << 40) == 0;
}

static void attack(void)
{
    attempt("a file of a terabyte", grows_file);
    attempt("a memory file of a terabyte", grows_memory_file);
}

ATTACK_THEN_NOTHING
