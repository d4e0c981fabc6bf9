/* Reading folders that others filled.  Symbolic links are not followed: a board from elsewhere must not name files of this machine. */
#ifndef KGRADE_REGRADE_FILES_H
#define KGRADE_REGRADE_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../sandbox/base/io.h"

/* Names in one folder, and bytes of one line of a file of lines. */
#define REGRADE_MAX_NAMES 200000u
#define REGRADE_MAX_LINE (64u << 20)

struct regrade_names {
    char **list;
    size_t n;
};

/* What is in a folder, hidden names left out, sorted as strverscmp(3) does.  Errors: `file_unreadable`, `bad_board`. */
int regrade_names_read(const char *folder, struct regrade_names *ret, kgrade_error *err);
void regrade_names_free(struct regrade_names *names);
#define cleanup_names __attribute__((cleanup(regrade_names_free)))

/* "FOLDER/NAME"; the caller frees; aborts never: NULL is without memory. */
char *regrade_path(const char *folder, const char *name);
bool regrade_is_folder(const char *path);
bool regrade_is_file(const char *path);
/* Whether NAME in FOLDER is a file. */
bool regrade_has_file(const char *folder, const char *name);
/* The last part of a path, without slashes at its end; the caller frees. */
char *regrade_last_part(const char *path);

/* A whole regular file of at most limit bytes.  Errors as of io_read_file. */
int regrade_read_file(const char *path, size_t limit, struct bytes *ret, kgrade_error *err);

/* Text from foreign bytes: those that are no UTF-8 as %XX.  The caller frees. */
char *regrade_label(const char *bytes);

/* "cuda" for "add.cu" and so on; NULL: nothing that a candidate is written in. */
const char *regrade_language_of(const char *name);

/* The next line of a file, without its end, NUL-terminated, in *line, which grows and is freed by the caller.  1: a line; 0: no
 * more; -1 with `file_unreadable` or `bad_board` (too long). */
int regrade_read_line(FILE *file, const char *path, char **line, size_t *room, size_t *ret_size,
                      kgrade_error *err);

/* Gives each line's object of JSON Lines to take, which does not keep it; empty lines are none.  Errors: `file_unreadable`,
 * `bad_board`, and those of take, which end it. */
typedef int regrade_record_taker(void *data, json_t *record, kgrade_error *err);
int regrade_read_records(FILE *file, const char *path, regrade_record_taker *take, void *data,
                         kgrade_error *err);

#endif
