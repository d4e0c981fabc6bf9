#define _GNU_SOURCE
#include "kernel_cache.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"

#define TEMPORARY "tempfile" /* how PoCL begins the names of what it does not keep */

struct entry {
    uint32_t path_length, size;
};

/* nftw hands nothing on to its function. */
static struct {
    size_t root_length;
    struct bytes to;
    unsigned files;
    kgrade_error *err;
} packing;

static int over_limit(void)
{
    return fail(packing.err, "recording_invalid", "Use fewer or smaller kernels.",
                "The kernels' code takes more than %u files or %u MiB.", KERNEL_CACHE_MAX_FILES,
                KERNEL_CACHE_MAX_BYTES >> 20);
}

static int append(const char *path, const struct bytes *contents)
{
    struct bytes *to = &packing.to;
    const struct entry entry = {(uint32_t)strlen(path), (uint32_t)contents->size};
    size_t more = sizeof entry + entry.path_length + entry.size;
    if (++packing.files > KERNEL_CACHE_MAX_FILES || entry.path_length > KERNEL_CACHE_MAX_PATH ||
        to->size + more > KERNEL_CACHE_MAX_BYTES)
        return over_limit();
    uint8_t *grown = realloc(to->data, to->size + more);
    if (!grown)
        return fail(packing.err, "out_of_memory", NULL, "No memory for the kernels' code.");
    to->data = grown;
    memcpy(grown + to->size, &entry, sizeof entry);
    memcpy(grown + to->size + sizeof entry, path, entry.path_length);
    if (entry.size)
        memcpy(grown + to->size + sizeof entry + entry.path_length, contents->data, entry.size);
    to->size += more;
    return 0;
}

static int pack_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    cleanup_bytes struct bytes contents = {0};
    kgrade_error err = {.code = ""};
    if (kind != FTW_F || !S_ISREG(st->st_mode) ||
        !strncmp(path + at->base, TEMPORARY, strlen(TEMPORARY)))
        return 0;
    if (io_read_file(path, KERNEL_CACHE_MAX_BYTES, &contents, &err)) {
        if (!strcmp(err.code, "file_too_large"))
            return over_limit();
        return fail(packing.err, "cache_failed", NULL, "The kernels' code cannot be read: %.900s",
                    err.message);
    }
    return append(path + packing.root_length + 1, &contents);
}

int kernel_cache_pack(const char *folder, struct bytes *ret, kgrade_error *err)
{
    memset(&packing, 0, sizeof packing);
    packing.root_length = strlen(folder);
    packing.err = err;
    errno = 0;
    int result = nftw(folder, pack_file, KERNEL_CACHE_MAX_DEPTH, FTW_PHYS);
    cleanup_bytes struct bytes packed = packing.to;
    if (result && packing.err->code[0])
        return -1;
    if (result && errno != ENOENT)
        return fail_errno(err, "cache_failed", NULL, "The kernels' code cannot be read");
    *ret = packed;
    packed = (struct bytes){0};
    return 0;
}

/* Names as the runtime makes them, each inside the folder before it. */
static bool is_plain(const char *path)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    for (const char *name = path;; name++) {
        size_t n = strspn(name, letters);
        if (n == 0 || name[0] == '.')
            return false;
        name += n;
        if (!*name)
            return true;
        if (*name != '/')
            return false;
    }
}

static int write_file(const char *folder, const char *path, const uint8_t *data, size_t size,
                      kgrade_error *err)
{
    cleanup_free char *whole = NULL;
    kgrade_error cause = {.code = ""};
    if (asprintf(&whole, "%s/%s", folder, path) < 0) {
        whole = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a path.");
    }
    char *name = strrchr(whole, '/');
    *name = 0;
    int result = io_make_dirs(whole, &cause);
    *name = '/';
    if (!result && !io_write_file(whole, data, size, &cause))
        return 0;
    /* A file where a folder should be, or the other way round, is no fault of the machine. */
    bool forged = errno == ENOTDIR || errno == EISDIR || errno == EEXIST;
    return fail(err, forged ? "recording_invalid" : "cache_failed", forged ? "Grade again." : NULL,
                "The kernels' code cannot be written: %.900s", cause.message);
}

int kernel_cache_unpack(const char *folder, const struct bytes *packed, kgrade_error *err)
{
    static const char hint[] = "Grade again.";
    const uint8_t *at = packed->data;
    size_t left = packed->size;
    if (left > KERNEL_CACHE_MAX_BYTES)
        return fail(err, "recording_invalid", hint, "The kernels' code is too large.");
    for (unsigned files = 0; left; files++) {
        struct entry entry;
        char path[KERNEL_CACHE_MAX_PATH + 1];
        if (left < sizeof entry || files == KERNEL_CACHE_MAX_FILES)
            return fail(err, "recording_invalid", hint, "The kernels' code is cut short.");
        memcpy(&entry, at, sizeof entry);
        at += sizeof entry;
        left -= sizeof entry;
        if (entry.path_length > KERNEL_CACHE_MAX_PATH || entry.path_length > left ||
            entry.size > left - entry.path_length)
            return fail(err, "recording_invalid", hint, "The kernels' code is cut short.");
        memcpy(path, at, entry.path_length);
        path[entry.path_length] = 0;
        if (strlen(path) != entry.path_length || !is_plain(path))
            return fail(err, "recording_invalid", hint,
                        "The kernels' code names a file that no runtime would.");
        if (write_file(folder, path, at + entry.path_length, entry.size, err))
            return -1;
        at += entry.path_length + entry.size;
        left -= entry.path_length + entry.size;
    }
    return 0;
}
