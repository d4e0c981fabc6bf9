/*
 * The folder in which the runtime keeps what it has compiled, as bytes: made by a replayer that may run compilers,
 * used by those that may not.
 *
 * Format, which never leaves the machine: for each file u32 length of its path, u32 length of its contents, the path
 * (relative to the folder), the contents.  The bytes come from a process in which a candidate's kernels ran, so they are
 * checked like any input; what the files hold is native code of the candidate, as it is where it was made.
 */
#ifndef KGRADE_OPENCL_KERNEL_CACHE_H
#define KGRADE_OPENCL_KERNEL_CACHE_H

#include "../../../sandbox/base/io.h"

#define KERNEL_CACHE_MAX_BYTES (64u << 20)
#define KERNEL_CACHE_MAX_FILES 4096u
#define KERNEL_CACHE_MAX_PATH 1024u
#define KERNEL_CACHE_MAX_DEPTH 16

/* All regular files below a folder; a folder that is not there is an empty one.  *ret is the caller's.  Errors:
 * `recording_invalid` (over a limit), `cache_failed`. */
int kernel_cache_pack(const char *folder, struct bytes *ret, kgrade_error *err);

/* Writes the files into a folder, which need not be there.  Errors: `recording_invalid` (not what kernel_cache_pack
 * writes), `cache_failed`. */
int kernel_cache_unpack(const char *folder, const struct bytes *packed, kgrade_error *err);

#endif
