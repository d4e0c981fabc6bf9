/* Programs of the machine in jails: compilers, and what is asked of interpreters. */
#ifndef KGRADE_JAILS_H
#define KGRADE_JAILS_H

#include "../build/bundle.h"
#include "engine.h"

#define JAILS_MAX_LOG_BYTES (16u << 10)     /* of a worker's or a compiler's output in a result */
#define JAILS_MAX_OUTPUT_BYTES (8ull << 20) /* what a record jail may write, to any one file */

/* Runs a program of the machine in a jail that sees what all jails see and the interpreter's folders; *ret is what it writes
 * to standard output.  -1 also when it fails: `program_failed`. */
int jails_run(kgrade *engine, const char *const *argv, const struct python *python,
              uint64_t wall_ns, char **ret, kgrade_error *err);

/* While this thread waits for a worker or a compiler, go_on is asked about ten times a second; false cancels what is
 * waited for.  A grade runs in one thread, from begin to end. NULL: never asked. */
void jails_ask_while_waiting(bool (*go_on)(void *data), void *data);
/* Asks now. */
bool jails_go_on(void);
/* When to ask next, or the deadline. */
uint64_t jails_next_question(uint64_t deadline);

/* What was written to a memory file: capped, made valid UTF-8, jail paths stripped.  NULL when empty.  Caller frees. */
char *jails_log(int output_fd);

/* A sealed memory file with these bytes. */
int jails_memory_file(const char *name, const void *data, size_t size, kgrade_error *err);

/* A memory file for what a program in a jail writes; see jails_log.  -1 with `memory_file_failed`. */
int jails_output_file(kgrade_error *err);

/* Runs a compiler in the build jail: `source` at /src/NAME, the result read back from /out/candidate.so.
 * Returns 0 with *ret filled; 1 when the compiler failed (exit status, signal or deadline in *ret_status, its words in
 * *ret_log); -1 for a fault of the machine. */
struct build_input {
    const struct device *device; /* for its binds; NULL: none */
    const char *const *argv;
    const struct bundle_file *files; /* what is in /src */
    size_t n_files;
};
int jails_build(kgrade *engine, const struct build_input *input, uint64_t wall_ns,
                struct bytes *ret, struct jail_status *ret_status, char **ret_log,
                kgrade_error *err);

#endif
