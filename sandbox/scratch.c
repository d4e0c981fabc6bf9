#define _GNU_SOURCE
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

char *scratch_make(const uid_t *user, kgrade_error *err)
{
    const char *parent = getenv("TMPDIR");
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/kgrade-jail-XXXXXX", parent && *parent == '/' ? parent : "/tmp") < 0) {
        path = NULL;
        fail(err, "jail_setup_failed", NULL, "No memory for the name of a private folder.");
        return NULL;
    }
    if (!mkdtemp(path)) {
        fail_errno(err, "jail_setup_failed", "Set TMPDIR to a writable folder.",
                   "The private folder %s cannot be made", path);
        return NULL;
    }
    if (user && chown(path, *user, *user)) {
        fail_errno(err, "jail_setup_failed", NULL, "The private folder cannot be given away");
        rmdir(path);
        return NULL;
    }
    return steal_pointer(&path);
}

static DIR *list(int folder)
{
    cleanup_close int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir)
        steal_fd(&copy); /* it belongs to dir now */
    return dir;
}

/* Empties `folder`, moving the folders in it up to `top`.  Returns how many were moved, -1 on
 * error. */
static long flatten(int top, int folder, unsigned long *counter)
{
    cleanup_dir DIR *dir = list(folder);
    if (!dir)
        return -1;
    long moved = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (!unlinkat(folder, e->d_name, 0))
            continue;
        if (errno != EISDIR && errno != EPERM)
            return -1;
        if (!unlinkat(folder, e->d_name, AT_REMOVEDIR))
            continue;
        /* Moving a folder changes its "..", for which its owner needs permission. */
        if (fchmodat(folder, e->d_name, 0700, 0))
            return -1;
        char name[40];
        snprintf(name, sizeof name, ".removed-%lu", (*counter)++);
        if (renameat2(folder, e->d_name, top, name, RENAME_NOREPLACE) && errno != EEXIST)
            return -1;
        moved++;
    }
    return moved;
}

/* One folder of the top at a time is emptied and removed; since folders below it come up, neither
 * depth nor path length matters. */
int scratch_remove(const char *path)
{
    /* The name may have been put somewhere else, so nothing here follows it twice. */
    cleanup_close int found = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0)
        return errno == ENOENT ? 0 : -1;
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", found);
    if (chmod(self, 0700))
        return -1;
    cleanup_close int top = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -1;
    unsigned long counter = 0;
    for (bool again = true; again;) {
        again = false;
        cleanup_dir DIR *dir = list(top);
        if (!dir)
            return -1;
        for (struct dirent *e; (e = readdir(dir));) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                continue;
            again = true;
            if (!unlinkat(top, e->d_name, 0) || !unlinkat(top, e->d_name, AT_REMOVEDIR))
                continue;
            if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
                return -1;
            if (fchmodat(top, e->d_name, 0700, 0))
                return -1;
            cleanup_close int folder =
                openat(top, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (folder < 0 || flatten(top, folder, &counter) < 0)
                return -1;
        }
    }
    return rmdir(path);
}

static bool ends_path(char c)
{
    return c == 0 || strchr("/:,; \t\n\"'=", c);
}

/* Whether a path may begin at text + at. */
static bool begins_path(const char *text, size_t at)
{
    if (text[at] != '/')
        return false;
    if (at == 0 || strchr("=:,; \t\n\"'", text[at - 1]))
        return true;
    return text[0] == '-' && !memchr(text, '/', at); /* -I/path */
}

static size_t match(const char *text, const char *target, size_t best)
{
    size_t n = strlen(target);
    while (n > 1 && target[n - 1] == '/')
        n--;
    return n > best && !strncmp(text, target, n) && ends_path(text[n]) ? n : 0;
}

char *scratch_replace_paths(const char *text, const struct jail_bind *binds, size_t n_binds,
                            const char *scratch)
{
    char *out = NULL;
    size_t size = 0;
    cleanup_file FILE *f = open_memstream(&out, &size);
    if (!f)
        return NULL;
    for (size_t at = 0; text[at];) {
        size_t best = 0;
        const char *by = NULL;
        if (begins_path(text, at)) {
            if ((best = match(text + at, "/tmp", 0)))
                by = scratch;
            for (size_t i = 0; i < n_binds; i++) {
                const char *target = binds[i].target ? binds[i].target : binds[i].source;
                size_t n = match(text + at, target, best);
                if (n) {
                    best = n;
                    by = binds[i].source;
                }
            }
        }
        if (by)
            fputs(by, f);
        else
            fputc(text[at], f);
        at += by ? best : 1;
    }
    bool failed = fclose(steal_pointer(&f)) != 0;
    if (failed) {
        free(out);
        return NULL;
    }
    return out;
}
