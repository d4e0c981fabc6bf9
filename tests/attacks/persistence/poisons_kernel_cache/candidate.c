/* Overwrites every file in the OpenCL runtime's cache after its kernel was built. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>

#include "../../honest.h"

static int scribble(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (kind == FTW_F) {
        int fd = open(path, O_WRONLY | O_TRUNC);
        if (fd >= 0) {
            dprintf(fd, "not what it was\n");
            close(fd);
        }
    }
    return 0;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    const char *cache = getenv("POCL_CACHE_DIR");
    add_honestly(a, b, c, n, queue);
    if (cache)
        nftw(cache, scribble, 16, FTW_PHYS);
}
