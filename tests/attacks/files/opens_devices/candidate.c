/* Looks for devices that were not granted, and makes nodes for them itself. */
#define _GNU_SOURCE
#include <sys/sysmacros.h>

#include "../../attack.h"

static int granted(const char *name)
{
    static const char *const names[] = {".",       "..", "null",  "zero",   "full",   "random",
                                        "urandom", "fd", "stdin", "stdout", "stderr", "shm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i]))
            return 1;
#ifdef __CUDACC__
    return !strncmp(name, "nvidia", sizeof "nvidia" - 1); /* the card's own */
#else
    return 0;
#endif
}

static void attack(void)
{
    static const struct {
        mode_t kind;
        int major, minor;
    } nodes[] = {
        {S_IFCHR, 1, 1}, {S_IFCHR, 1, 11}, {S_IFBLK, 8, 0}, {S_IFBLK, 254, 0}, {S_IFCHR, 195, 255}};
    DIR *dev = opendir("/dev");
    for (struct dirent *entry; dev && (entry = readdir(dev));)
        if (!granted(entry->d_name))
            breach(entry->d_name);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        if (mknod("/tmp/" PLANTED "-node", nodes[i].kind | 0600,
                  makedev(nodes[i].major, nodes[i].minor)) == 0)
            breach("mknod");
}

ATTACK_THEN_NOTHING
