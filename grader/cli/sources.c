#define _GNU_SOURCE
#include "sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "kgrade/kgrade.h"

/* Standard input to its end, at most limit bytes. */
static int read_stdin(size_t limit, struct bytes *ret, kgrade_error *error)
{
    size_t room = 1 << 16, size = 0;
    cleanup_free uint8_t *data = malloc(room + 1);
    for (;;) {
        if (!data)
            return fail(error, "out_of_memory", NULL, "No memory for the text on standard input.");
        ssize_t k = read(STDIN_FILENO, data + size, room - size);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_errno(error, "file_unreadable", NULL, "Cannot read standard input");
        if (k == 0)
            break;
        size += (size_t)k;
        if (size > limit)
            return fail(error, "file_too_large", NULL, "Standard input is longer than %zu bytes.",
                        limit);
        if (size == room) {
            room *= 2;
            uint8_t *larger = realloc(data, room + 1);
            if (!larger)
                return fail(error, "out_of_memory", NULL,
                            "No memory for the text on standard input.");
            data = larger;
        }
    }
    data[size] = 0;
    ret->data = steal_pointer(&data);
    ret->size = size;
    return 0;
}

int sources_read_input(const char *path, size_t limit, struct bytes *ret, kgrade_error *error)
{
    return strcmp(path, "-") ? io_read_file(path, limit, ret, error)
                             : read_stdin(limit, ret, error);
}

/* Texts of several files, while one source is made of them. */
struct texts {
    struct bytes *list;
    size_t n;
};

static void free_texts(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        bytes_free(&texts->list[i]);
    free(texts->list);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int sources_read(char *const *paths, size_t n, struct bytes *ret, kgrade_error *error)
{
    if (n == 1)
        return sources_read_input(paths[0], KGRADE_MAX_SOURCE_BYTES, ret, error);
    __attribute__((cleanup(free_texts))) struct texts texts = {calloc(n, sizeof *texts.list), 0};
    cleanup_free kgrade_file *files = calloc(n, sizeof *files);
    char *source;
    if (!texts.list || !files)
        return fail(error, "out_of_memory", NULL, "There is no memory for %zu files.", n);
    for (; texts.n < n; texts.n++) {
        struct bytes *text = &texts.list[texts.n];
        if (!strcmp(paths[texts.n], "-"))
            return fail(error, "file_unreadable", "Save it to a file first.",
                        "Standard input has no name that other files could include.");
        if (io_read_file(paths[texts.n], KGRADE_MAX_SOURCE_BYTES, text, error))
            return -1;
        files[texts.n] =
            (kgrade_file){last_part(paths[texts.n]), (const char *)text->data, text->size};
    }
    if (kgrade_bundle(files, n, &source, error))
        return -1;
    *ret = (struct bytes){(uint8_t *)source, strlen(source)};
    return 0;
}
