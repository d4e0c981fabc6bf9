/*
 * Ownership made visible: variables that release what they own when they leave scope.
 * Every such variable is initialised where it is declared.  `steal_fd` and `steal_pointer` mark the
 * line where ownership moves.
 */
#ifndef KGRADE_CLEANUP_H
#define KGRADE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close_(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file_(FILE **f)
{
    if (*f)
        fclose(*f);
}

static inline void cleanup_dir_(DIR **d)
{
    if (*d)
        closedir(*d);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_)))
#define cleanup_close __attribute__((cleanup(cleanup_close_)))
#define cleanup_file __attribute__((cleanup(cleanup_file_)))
#define cleanup_dir __attribute__((cleanup(cleanup_dir_)))

static inline int steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static inline void *steal_pointer_(void *p)
{
    void *taken = *(void **)p;
    *(void **)p = NULL;
    return taken;
}

#define steal_pointer(p) ((__typeof__(*(p)))steal_pointer_(p))

#endif
