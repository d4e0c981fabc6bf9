/* The file format's fixed parts, shared by the writer and the parser. */
#ifndef KGRADE_RECORDING_FORMAT_H
#define KGRADE_RECORDING_FORMAT_H

#include "recording.h"

#define RECORDING_FORMAT 1
#define RECORDING_MAGIC "KGRADE1\n"
#define RECORDING_HEADER_BYTES 16u
#define RECORDING_MAX_MANIFEST (64ull << 20)
#define RECORDING_KNOWN "known" /* in place of "bytes": the data is not in the file */

/* For the parser: a blob by its hash alone, and an image of a blob that is there.  SIZE_MAX: no memory or limit. */
size_t recording_add_named_blob(struct recording *recording, const char hash[HASH_HEX],
                                size_t size);
size_t recording_add_image_of(struct recording *recording, const char *kind, const char *options,
                              size_t blob);

#endif
