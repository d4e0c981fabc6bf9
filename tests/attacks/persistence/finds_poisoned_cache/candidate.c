/* The same kernel as the grade before it, which has overwritten every file in the runtime's cache of compiled kernels: the cache is empty, the answer right. */
#define _GNU_SOURCE
#include "../../attack.h"

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        n += entry->d_name[0] != '.' && strncmp(entry->d_name, "temp", 4) != 0;
    return n;
}

static void attack(void)
{
    const char *cache = getenv("POCL_CACHE_DIR");
    if (cache && entries(cache) > 0)
        breach("the cache is not empty");
}

ATTACK_THEN_ADD
