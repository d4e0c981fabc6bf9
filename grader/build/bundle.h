/*
 * A source of several files.  It is one text all the same, so that whatever keeps, hashes or shows sources need not know:
 *
 *     {"files":{"main.cu":"...","tile.cuh":"..."}}
 *
 * Files with the extension of the language's source are compiled and linked together; the others are there to be
 * included.  All are in one folder.
 */
#ifndef KGRADE_BUNDLE_H
#define KGRADE_BUNDLE_H

#include "../device.h"
#include "kgrade/kgrade.h"

#define BUNDLE_MAX_FILES 32u
#define BUNDLE_MAX_NAME 64u

struct bundle {
    json_t *json; /* owned; NULL: the source is a single file */
    struct bundle_file {
        const char *name, *text;
        size_t size;
    } files[BUNDLE_MAX_FILES];
    size_t n;
};

/* Takes a source apart.  One that is no bundle becomes one file, called as the language has it.  The texts live as long as
 * the source and the bundle.  Errors: `bad_bundle`, `no_source_file`. */
int bundle_open(const struct device_language *language, const char *source, size_t size,
                struct bundle *ret, kgrade_error *err);
void bundle_close(struct bundle *bundle);
#define cleanup_bundle __attribute__((cleanup(bundle_close)))

/* Whether it is one to compile. */
bool bundle_is_source(const struct device_language *language, const struct bundle_file *file);

#endif
