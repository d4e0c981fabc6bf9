/* Reading candidates, of one file or of several. */
#ifndef KGRADE_REGRADE_CANDIDATE_H
#define KGRADE_REGRADE_CANDIDATE_H

#include "../../sandbox/base/io.h"
#include "board.h"

enum candidate_read {
    CANDIDATE_READ,
    CANDIDATE_NONE,   /* there is no source */
    CANDIDATE_BAD,    /* it cannot be a candidate; *err tells why, in words for a skipped entry */
    CANDIDATE_FAILED, /* the reading cannot go on; *err tells why */
};

/* Reads a candidate of one file. */
enum candidate_read candidate_file(const char *path, struct bytes *ret, kgrade_error *err);

/* Makes one source of the sources and headers in a folder; *ret_language is that of the sources, *ret_files their names, which the
 * caller frees. */
enum candidate_read candidate_folder(const char *folder, struct bytes *ret,
                                     const char **ret_language, char **ret_files,
                                     kgrade_error *err);

/* -1, with *err as *why. */
int candidate_pass_on(const kgrade_error *why, kgrade_error *err);

#endif
