#define _GNU_SOURCE
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

char *regrade_path(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

bool regrade_is_folder(const char *path)
{
    struct stat st;
    return path && !lstat(path, &st) && S_ISDIR(st.st_mode);
}

bool regrade_is_file(const char *path)
{
    struct stat st;
    return path && !lstat(path, &st) && S_ISREG(st.st_mode);
}

bool regrade_has_file(const char *folder, const char *name)
{
    cleanup_free char *path = regrade_path(folder, name);
    return regrade_is_file(path);
}

char *regrade_last_part(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, end - begin);
}

static int compare(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strverscmp(*left, *right);
}

void regrade_names_free(struct regrade_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
    *names = (struct regrade_names){0};
}

int regrade_names_read(const char *folder, struct regrade_names *ret, kgrade_error *err)
{
    cleanup_names struct regrade_names names = {0};
    cleanup_dir DIR *dir = opendir(folder);
    size_t room = 0;
    if (!dir)
        return fail_errno(err, "file_unreadable", NULL, "Cannot read the folder %s", folder);
    for (const struct dirent *d; (errno = 0, d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        if (names.n == REGRADE_MAX_NAMES)
            return fail(err, "bad_board", "Take a part of it.", "%s holds more than %u files.",
                        folder, REGRADE_MAX_NAMES);
        if (names.n == room) {
            room = room ? 2 * room : 64;
            char **larger = realloc(names.list, room * sizeof *larger);
            if (!larger)
                return fail(err, "out_of_memory", NULL, "There is no memory for a list of files.");
            names.list = larger;
        }
        names.list[names.n] = strdup(d->d_name);
        if (!names.list[names.n])
            return fail(err, "out_of_memory", NULL, "There is no memory for a list of files.");
        names.n++;
    }
    if (errno)
        return fail_errno(err, "file_unreadable", NULL, "Cannot read the folder %s", folder);
    if (names.n)
        qsort(names.list, names.n, sizeof *names.list, compare);
    *ret = names;
    names = (struct regrade_names){0};
    return 0;
}

int regrade_read_file(const char *path, size_t limit, struct bytes *ret, kgrade_error *err)
{
    if (!regrade_is_file(path))
        return fail(err, "file_unreadable", "Symbolic links are not followed.",
                    "%s is no regular file.", path);
    return io_read_file(path, limit, ret, err);
}

char *regrade_label(const char *bytes)
{
    json_t *whole = json_string(bytes);
    size_t length = strlen(bytes);
    char *label = malloc(3 * length + 1), *to = label;
    for (size_t i = 0; label && i < length; i++) {
        bool keep = whole || (unsigned char)bytes[i] < 0x80;
        to += keep ? sprintf(to, "%c", bytes[i]) : sprintf(to, "%%%02X", (unsigned char)bytes[i]);
    }
    if (label)
        *to = 0;
    json_decref(whole);
    return label;
}

const char *regrade_language_of(const char *name)
{
    static const char *const languages[][2] = {
        {".cu", "cuda"},
        {".c", "c"},
        {".hip", "hip"},
        {".py", "python"},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof languages / sizeof languages[0]; i++)
        if (!strcmp(dot, languages[i][0]))
            return languages[i][1];
    return NULL;
}

int regrade_read_line(FILE *file, const char *path, char **line, size_t *room, size_t *ret_size,
                      kgrade_error *err)
{
    size_t size = 0;
    int c;
    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (size == REGRADE_MAX_LINE)
            return fail(err, "bad_board", NULL, "A line of %s is longer than %u bytes.", path,
                        REGRADE_MAX_LINE);
        if (size + 1 >= *room) {
            size_t wanted = *room ? 2 * *room : 4096;
            char *larger = realloc(*line, wanted);
            if (!larger)
                return fail(err, "out_of_memory", NULL, "There is no memory for a line of %s.",
                            path);
            *line = larger;
            *room = wanted;
        }
        (*line)[size++] = (char)c;
    }
    if (ferror(file))
        return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
    if (c == EOF && !size)
        return 0;
    if (!*line) { /* an empty first line */
        *line = malloc(1);
        *room = *line ? 1 : 0;
        if (!*line)
            return fail(err, "out_of_memory", NULL, "There is no memory for a line of %s.", path);
    }
    if (size && (*line)[size - 1] == '\r')
        size--;
    (*line)[size] = 0;
    *ret_size = size;
    return 1;
}

int regrade_read_records(FILE *file, const char *path, regrade_record_taker *take, void *data,
                         kgrade_error *err)
{
    cleanup_free char *line = NULL;
    size_t room = 0, size, number = 0;
    int rc;
    while ((rc = regrade_read_line(file, path, &line, &room, &size, err)) > 0) {
        number++;
        if (!size)
            continue;
        json_error_t where;
        json_auto_t *record = json_loadb(line, size, 0, &where);
        if (!json_is_object(record))
            return fail(err, "bad_board", NULL, "%s, line %zu: %s.", path, number,
                        record ? "no object" : where.text);
        if (take(data, record, err))
            return -1;
    }
    return rc;
}
