#define _GNU_SOURCE
#include "forge.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../grader/hash.h"
#include "../../grader/recording_format.h"
#include "../../sandbox/base/cleanup.h"
#include "candidate.h"

#define MAX_BLOBS 64

struct forgery {
    json_t *manifest;
    struct bytes blobs[MAX_BLOBS];
    size_t n_blobs;
    bool keep_hashes;
    uint64_t length; /* in the header; 0: as it is */
    char *magic;
    const json_t *replace; /* in the text of the manifest */
    size_t cut;            /* bytes at the end */
    const char *tail;
};

static int nonsense(const json_t *step)
{
    cleanup_free char *text = json_dumps(step, JSON_COMPACT);
    fprintf(stderr, "%s: this step of a forgery makes no sense\n", text ? text : "?");
    return -1;
}

static bool copy(struct bytes *to, const void *data, size_t size)
{
    uint8_t *memory = malloc(size + 1);
    if (!memory)
        return false;
    memcpy(memory, data, size);
    free(to->data);
    *to = (struct bytes){.data = memory, .size = size};
    return true;
}

static int take_apart(const struct bytes *good, struct forgery *f)
{
    uint64_t length;
    memcpy(&length, good->data + 8, sizeof length);
    size_t at = RECORDING_HEADER_BYTES + (size_t)length;
    f->manifest =
        json_loadb((const char *)good->data + RECORDING_HEADER_BYTES, (size_t)length, 0, NULL);
    const json_t *blobs = json_object_get(f->manifest, "blobs");
    f->n_blobs = json_array_size(blobs);
    if (!f->manifest || f->n_blobs > MAX_BLOBS)
        return -1;
    for (size_t i = 0; i < f->n_blobs; i++) {
        size_t n = (size_t)json_integer_value(json_object_get(json_array_get(blobs, i), "bytes"));
        if (!copy(&f->blobs[i], good->data + at, n))
            return -1;
        at += n;
    }
    return 0;
}

/* What a path of keys and indices leads to; with `parent`, less its last part. */
static json_t *find(json_t *root, const json_t *path, bool parent)
{
    size_t n = json_array_size(path) - (parent ? 1 : 0);
    for (size_t i = 0; i < n; i++) {
        const json_t *part = json_array_get(path, i);
        root = json_is_string(part) ? json_object_get(root, json_string_value(part))
                                    : json_array_get(root, (size_t)json_integer_value(part));
    }
    return root;
}

static int put(json_t *parent, const json_t *last, json_t *value)
{
    if (json_is_object(parent))
        return json_object_set_new(parent, json_string_value(last), value);
    return json_array_set_new(parent, (size_t)json_integer_value(last), value);
}

/* "[[[]]]" as text, deeper than a parser should follow; "" for 0. */
static char *nested(size_t n)
{
    char *text = calloc(2, n + 1);
    if (!text)
        return NULL;
    memset(text, '[', n);
    memset(text + n, ']', n);
    return text;
}

/* "{},{},{}," */
static char *many(size_t n)
{
    char *text = calloc(3, n + 1);
    for (size_t i = 0; text && i < n; i++)
        memcpy(text + 3 * i, "{},", 3);
    return text;
}

static int set_in_manifest(json_t *root, const json_t *step, const json_t *path)
{
    const json_t *to = json_object_get(step, "to");
    const json_t *filled = json_object_get(step, "filled");
    json_t *parent = find(root, path, true);
    const json_t *last = json_array_get(path, json_array_size(path) - 1);
    json_t *value = json_deep_copy(to);
    if (json_is_integer(filled)) { /* a text of so many bytes */
        size_t n = (size_t)json_integer_value(filled);
        cleanup_free char *text = calloc(1, n + 1);
        if (text)
            memset(text, 'x', n);
        value = text ? json_string(text) : NULL;
    }
    return value && parent ? put(parent, last, value) : nonsense(step);
}

static int repeat(json_t *root, const json_t *step, const json_t *path)
{
    json_t *list = find(root, path, true), *element = find(root, path, false);
    json_int_t times = json_integer_value(json_object_get(step, "times"));
    if (!json_is_array(list) || !element)
        return nonsense(step);
    for (json_int_t i = 0; i < times; i++)
        if (json_array_append(list, element))
            return -1;
    return 0;
}

static int change_blob(struct forgery *f, const json_t *step)
{
    size_t i = (size_t)json_integer_value(json_object_get(step, "blob"));
    const json_t *text = json_object_get(step, "text");
    if (i >= f->n_blobs || !json_is_string(text))
        return nonsense(step);
    return copy(&f->blobs[i], json_string_value(text), json_string_length(text)) ? 0 : -1;
}

static int add_blob(struct forgery *f, const json_t *step)
{
    const json_t *text = json_object_get(step, "add_blob");
    if (f->n_blobs == MAX_BLOBS || !json_is_string(text) ||
        !copy(&f->blobs[f->n_blobs], json_string_value(text), json_string_length(text)))
        return nonsense(step);
    f->n_blobs++;
    return json_array_append_new(json_object_get(f->manifest, "blobs"), json_object());
}

static int apply(struct forgery *f, const json_t *step)
{
    const json_t *path;
    if ((path = json_object_get(step, "set")))
        return set_in_manifest(f->manifest, step, path);
    if ((path = json_object_get(step, "repeat")))
        return repeat(f->manifest, step, path);
    if ((path = json_object_get(step, "remove")))
        return json_object_del(find(f->manifest, path, true),
                               json_string_value(json_array_get(path, json_array_size(path) - 1)));
    if ((path = json_object_get(step, "append")))
        return json_array_append(find(f->manifest, path, false), json_object_get(step, "value"));
    if (json_object_get(step, "blob"))
        return change_blob(f, step);
    if (json_object_get(step, "add_blob"))
        return add_blob(f, step);
    if (json_object_get(step, "keep_hashes"))
        f->keep_hashes = true;
    else if (json_object_get(step, "length"))
        f->length = (uint64_t)json_integer_value(json_object_get(step, "length"));
    else if (json_object_get(step, "magic"))
        f->magic = strdup(candidate_text(step, "magic"));
    else if (json_object_get(step, "replace"))
        f->replace = step;
    else if (json_object_get(step, "cut"))
        f->cut = (size_t)json_integer_value(json_object_get(step, "cut"));
    else if (json_object_get(step, "tail"))
        f->tail = candidate_text(step, "tail");
    else
        return nonsense(step);
    return 0;
}

static void put_right(struct forgery *f)
{
    json_t *list = json_object_get(f->manifest, "blobs");
    for (size_t i = 0; i < f->n_blobs && !f->keep_hashes; i++) {
        char hash[HASH_HEX];
        hash_hex(f->blobs[i].data, f->blobs[i].size, hash);
        json_t *blob = json_array_get(list, i);
        json_object_set_new(blob, "sha256", json_string(hash));
        json_object_set_new(blob, "bytes", json_integer((json_int_t)f->blobs[i].size));
    }
}

/* The manifest's text, with its one textual replacement. */
static char *manifest_text(const struct forgery *f)
{
    char *text = json_dumps(f->manifest, JSON_COMPACT | JSON_SORT_KEYS), *changed = NULL;
    if (!text || !f->replace)
        return text;
    const char *from = candidate_text(f->replace, "replace");
    cleanup_free char *deep =
        nested((size_t)json_integer_value(json_object_get(f->replace, "nested")));
    cleanup_free char *wide = many((size_t)json_integer_value(json_object_get(f->replace, "many")));
    char *at = strstr(text, from);
    if (!at || asprintf(&changed, "%.*s%s%s%s%s", (int)(at - text), text,
                        candidate_text(f->replace, "by"), deep, wide, at + strlen(from)) < 0)
        changed = NULL;
    if (!at)
        nonsense(f->replace);
    free(text);
    return changed;
}

static int put_together(struct forgery *f, struct bytes *ret)
{
    put_right(f);
    cleanup_free char *manifest = manifest_text(f);
    if (!manifest)
        return -1;
    uint64_t n = strlen(manifest), length = f->length ? f->length : n;
    size_t size = RECORDING_HEADER_BYTES + n + (f->tail ? strlen(f->tail) : 0), at;
    for (size_t i = 0; i < f->n_blobs; i++)
        size += f->blobs[i].size;
    ret->data = malloc(size + 1);
    if (!ret->data)
        return -1;
    memcpy(ret->data, RECORDING_MAGIC, 8);
    if (f->magic)
        memcpy(ret->data, f->magic, strnlen(f->magic, 8));
    memcpy(ret->data + 8, &length, sizeof length);
    memcpy(ret->data + RECORDING_HEADER_BYTES, manifest, n);
    at = RECORDING_HEADER_BYTES + n;
    for (size_t i = 0; i < f->n_blobs; i++) {
        memcpy(ret->data + at, f->blobs[i].data, f->blobs[i].size);
        at += f->blobs[i].size;
    }
    if (f->tail)
        memcpy(ret->data + at, f->tail, strlen(f->tail));
    ret->size = f->cut < size ? size - f->cut : 0;
    return 0;
}

int forge_recording(const struct bytes *good, const json_t *forge, struct bytes *ret)
{
    struct forgery f = {0};
    int result = good->size > RECORDING_HEADER_BYTES ? take_apart(good, &f) : -1;
    for (size_t i = 0; i < json_array_size(forge) && !result; i++)
        result = apply(&f, json_array_get(forge, i));
    if (!result)
        result = put_together(&f, ret);
    for (size_t i = 0; i < MAX_BLOBS; i++)
        free(f.blobs[i].data);
    free(f.magic);
    json_decref(f.manifest);
    return result;
}
