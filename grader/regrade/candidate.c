/* Candidates of one file or of several. */
#define _GNU_SOURCE
#include "candidate.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"

static bool is_header(const char *name)
{
    const char *dot = strrchr(name, '.');
    static const char *const headers[] = {".h", ".cuh", ".hpp", ".inc", ".cl"};
    for (size_t i = 0; dot && i < sizeof headers / sizeof headers[0]; i++)
        if (!strcmp(dot, headers[i]))
            return true;
    return false;
}

int candidate_pass_on(const kgrade_error *why, kgrade_error *err)
{
    if (err)
        *err = *why;
    return -1;
}

static enum candidate_read too_large(kgrade_error *err)
{
    fail_set(err, "source_too_large", NULL, "Its source has more than %u bytes.",
             KGRADE_MAX_SOURCE_BYTES);
    return CANDIDATE_BAD;
}

static enum candidate_read no_memory(kgrade_error *err)
{
    fail_set(err, "out_of_memory", NULL, "There is no memory for a candidate.");
    return CANDIDATE_FAILED;
}

/* One file of many that may not be read does not end the reading; its path is nobody's business but this machine's. */
static enum candidate_read not_read(const kgrade_error *why, kgrade_error *err)
{
    if (!strcmp(why->code, "file_too_large"))
        return too_large(err);
    if (strcmp(why->code, "file_unreadable") != 0) {
        candidate_pass_on(why, err);
        return CANDIDATE_FAILED;
    }
    fail_set(err, "file_unreadable", NULL, "Its file cannot be read by this user.");
    return CANDIDATE_BAD;
}

enum candidate_read candidate_file(const char *path, struct bytes *ret, kgrade_error *err)
{
    kgrade_error why = {0};
    return regrade_read_file(path, KGRADE_MAX_SOURCE_BYTES, ret, &why) ? not_read(&why, err)
                                                                       : CANDIDATE_READ;
}

struct collection {
    json_t *files; /* {NAME: TEXT} */
    const char *language;
    char *names;
};

static void free_collection(struct collection *c)
{
    json_decref(c->files);
    free(c->names);
}

static enum candidate_read add(struct collection *c, const char *folder, const char *name,
                               kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, name), *longer = NULL;
    cleanup_bytes struct bytes text = {0};
    if (!regrade_is_file(path))
        return CANDIDATE_NONE;
    if (asprintf(&longer, "%s%s%s", c->names ? c->names : "", c->names ? ", " : "", name) < 0) {
        longer = NULL; /* which is undefined now */
        return no_memory(err);
    }
    free(c->names);
    c->names = steal_pointer(&longer);
    enum candidate_read rc = candidate_file(path, &text, err);
    if (rc != CANDIDATE_READ)
        return rc;
    if (!json_object_set_new(c->files, name, json_stringn((const char *)text.data, text.size)))
        return CANDIDATE_READ;
    fail_set(err, "source_not_utf8", NULL, "A file of its source is not UTF-8 text.");
    return CANDIDATE_BAD;
}

static enum candidate_read collect(struct collection *c, const char *folder, kgrade_error *err)
{
    cleanup_names struct regrade_names names = {0};
    kgrade_error why = {0};
    if (regrade_names_read(folder, &names, &why))
        return not_read(&why, err);
    for (size_t i = 0; i < names.n; i++) {
        const char *language = regrade_language_of(names.list[i]);
        if (!language && !is_header(names.list[i]))
            continue;
        enum candidate_read rc = add(c, folder, names.list[i], err);
        if (language && !c->language && rc != CANDIDATE_NONE)
            c->language = language;
        if (rc == CANDIDATE_BAD || rc == CANDIDATE_FAILED)
            return rc;
    }
    return c->language ? CANDIDATE_READ : CANDIDATE_NONE;
}

/* One file as it is, several as a bundle. */
static enum candidate_read bundle(json_t *texts, struct bytes *ret, kgrade_error *err)
{
    size_t n = json_object_size(texts), i = 0;
    cleanup_free kgrade_file *files = calloc(n + 1, sizeof *files);
    json_t *text;
    const char *name;
    char *source = NULL;
    kgrade_error why = {0};
    if (files)
        json_object_foreach(texts, name, text)
        {
            files[i++] = (kgrade_file){name, json_string_value(text), json_string_length(text)};
        }
    if (!files)
        return no_memory(err);
    if (n == 1) {
        source = strndup(files[0].text, files[0].size);
    } else if (kgrade_bundle(files, n, &source, &why)) {
        candidate_pass_on(&why, err);
        return strcmp(why.code, "out_of_memory") ? CANDIDATE_BAD : CANDIDATE_FAILED;
    }
    if (!source)
        return no_memory(err);
    *ret = (struct bytes){(uint8_t *)source, strlen(source)};
    return ret->size > KGRADE_MAX_SOURCE_BYTES ? too_large(err) : CANDIDATE_READ;
}

enum candidate_read candidate_folder(const char *folder, struct bytes *ret,
                                     const char **ret_language, char **ret_files, kgrade_error *err)
{
    __attribute__((cleanup(free_collection))) struct collection c = {.files = json_object()};
    enum candidate_read rc = collect(&c, folder, err);
    *ret_language = c.language;
    *ret_files = c.names ? regrade_label(c.names) : NULL;
    return rc == CANDIDATE_READ ? bundle(c.files, ret, err) : rc;
}
