#define _GNU_SOURCE
#include "bundle.h"

#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../quote.h"

#define PREFIX "{\"files\":"
#define BUNDLE_HINT                                                                                \
    "A source of several files is {\"files\": {\"NAME\": \"TEXT\", ...}} with plain names: "       \
    "letters, "                                                                                    \
    "digits, dots, dashes and underlines."

static bool is_bundle(const char *source, size_t size)
{
    return size >= strlen(PREFIX) && !memcmp(source, PREFIX, strlen(PREFIX));
}

/* No path, nothing hidden, nothing that a compiler would take for an option. */
static bool is_plain(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length && length <= BUNDLE_MAX_NAME && strspn(name, allowed) == length &&
           name[0] != '.' && name[0] != '-';
}

bool bundle_is_source(const struct device_language *language, const struct bundle_file *file)
{
    const char *wanted = strrchr(language->source_name, '.'), *got = strrchr(file->name, '.');
    return got && !strcmp(wanted, got);
}

static int add_file(struct bundle *b, const char *name, const json_t *text, kgrade_error *err)
{
    if (!is_plain(name))
        return fail(err, "bad_bundle", BUNDLE_HINT, "A file cannot be called \"%s\".",
                    quote(name).text);
    if (!json_is_string(text))
        return fail(err, "bad_bundle", BUNDLE_HINT, "The file \"%s\" is not a text.", name);
    if (b->n == BUNDLE_MAX_FILES)
        return fail(err, "bad_bundle", "Put several into one.", "At most %u files are taken.",
                    BUNDLE_MAX_FILES);
    b->files[b->n++] =
        (struct bundle_file){name, json_string_value(text), json_string_length(text)};
    return 0;
}

static int open_files(const struct device_language *language, struct bundle *b, kgrade_error *err)
{
    const char *name;
    json_t *text;
    bool compiles = false;
    json_object_foreach(json_object_get(b->json, "files"), name, text)
    {
        if (add_file(b, name, text, err))
            return -1;
        compiles = compiles || bundle_is_source(language, &b->files[b->n - 1]);
    }
    if (!compiles)
        return fail(err, "no_source_file",
                    "Files with this extension are compiled, others included.",
                    "None of the %zu files is a *%s.", b->n, strrchr(language->source_name, '.'));
    return 0;
}

int bundle_open(const struct device_language *language, const char *source, size_t size,
                struct bundle *ret, kgrade_error *err)
{
    struct bundle b = {.json = NULL};
    if (!is_bundle(source, size)) {
        b.files[b.n++] = (struct bundle_file){language->source_name, source, size};
        *ret = b;
        return 0;
    }
    b.json = json_loadb(source, size, JSON_REJECT_DUPLICATES, NULL);
    if (json_object_size(b.json) != 1 || !json_is_object(json_object_get(b.json, "files"))) {
        bundle_close(&b);
        return fail(err, "bad_bundle", BUNDLE_HINT,
                    "The source begins like one of several files, but is none.");
    }
    if (open_files(language, &b, err)) {
        bundle_close(&b);
        return -1;
    }
    *ret = b;
    return 0;
}

void bundle_close(struct bundle *bundle)
{
    json_decref(bundle->json);
    bundle->json = NULL;
}

int kgrade_bundle(const kgrade_file *files, size_t n, char **ret_source, kgrade_error *err)
{
    json_auto_t *all = json_object();
    for (size_t i = 0; i < n; i++) {
        json_t *text = json_stringn(files[i].text, files[i].size);
        if (!text)
            return fail(err, "source_not_utf8", "Save the file as UTF-8 text.",
                        "The file \"%s\" is not UTF-8 text.", quote(files[i].name).text);
        if (json_object_get(all, files[i].name)) {
            json_decref(text);
            return fail(err, "bad_bundle", "Give each file a name of its own.",
                        "Two files are called \"%s\".", quote(files[i].name).text);
        }
        if (json_object_set_new(all, files[i].name, text))
            return fail(err, "bad_bundle", BUNDLE_HINT, "A file's name is not UTF-8 text.");
    }
    json_auto_t *bundle = json_pack("{s:O}", "files", all);
    *ret_source = bundle ? json_dumps(bundle, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    return *ret_source ? 0 : fail(err, "out_of_memory", NULL, "There is no memory for a source.");
}
