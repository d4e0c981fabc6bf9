/*
 * Bundles: "__CLANG_OFFLOAD_BUNDLE__", u64 number of entries, and for each u64 offset, u64 size, u64 length of its name and
 * the name: "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", or "host-x86_64-...", which is empty.
 */
#define _GNU_SOURCE
#include "code_object.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_MAGIC_BYTES (sizeof BUNDLE_MAGIC - 1)
#define COMPRESSED_MAGIC "CCOB"

struct entry {
    uint64_t offset, size;
    const char *name;
    uint64_t name_size;
};

struct bundle {
    const uint8_t *data;
    size_t size, at;
    uint64_t left;
};

static bool take_u64(struct bundle *b, uint64_t *ret)
{
    if (b->size - b->at < sizeof *ret)
        return false;
    memcpy(ret, b->data + b->at, sizeof *ret);
    b->at += sizeof *ret;
    return true;
}

static bool bundle_open(const void *data, size_t size, struct bundle *ret)
{
    *ret = (struct bundle){.data = data, .size = size, .at = BUNDLE_MAGIC_BYTES};
    return size >= BUNDLE_MAGIC_BYTES && !memcmp(data, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES) &&
           take_u64(ret, &ret->left) && ret->left <= CODE_OBJECT_MAX_BUNDLE;
}

/* false: broken. */
static bool bundle_next(struct bundle *b, struct entry *ret)
{
    if (!take_u64(b, &ret->offset) || !take_u64(b, &ret->size) || !take_u64(b, &ret->name_size) ||
        ret->name_size > b->size - b->at || ret->offset > b->size ||
        ret->size > b->size - ret->offset)
        return false;
    ret->name = (const char *)b->data + b->at;
    b->at += ret->name_size;
    b->left--;
    return true;
}

/* The target in an entry's name; false: it is not one for HIP. */
static bool entry_target(const struct entry *e, char ret[CODE_OBJECT_TARGET])
{
    if (e->name_size < 3 || memcmp(e->name, "hip", 3))
        return false;
    const char *found = memmem(e->name, e->name_size, "-gfx", 4);
    size_t n = found ? (size_t)(e->name + e->name_size - (found + 1)) : 0;
    if (!found || n >= CODE_OBJECT_TARGET || memchr(found, 0, n + 1))
        return false;
    memcpy(ret, found + 1, n);
    ret[n] = '\0';
    return true;
}

/* Whether the target has the feature, as in ":xnack-", which is `n` bytes long. */
static bool has_feature(const char *target, const char *feature, size_t n)
{
    for (const char *at = strchr(target, ':'); at; at = strchr(at + 1, ':'))
        if (!strncmp(at, feature, n) && (at[n] == ':' || at[n] == '\0'))
            return true;
    return false;
}

bool code_object_target_fits(const char *image, const char *target)
{
    size_t n = strcspn(image, ":");
    if (n == 0 || n != strcspn(target, ":") || strncmp(image, target, n))
        return false;
    for (const char *at = image + n; *at;) {
        size_t bytes = 1 + strcspn(at + 1, ":");
        if (!has_feature(target, at, bytes))
            return false;
        at += bytes;
    }
    return true;
}

int code_object_pick(const void *data, size_t size, const char *target, const uint8_t **ret,
                     size_t *ret_size, kgrade_error *err)
{
    struct bundle b;
    struct entry e, best = {0};
    char targets[256] = "", name[CODE_OBJECT_TARGET];
    if (code_object_is(data, size)) {
        *ret = data;
        *ret_size = size;
        return 0;
    }
    if (size >= 4 && !memcmp(data, COMPRESSED_MAGIC, 4))
        return fail(err, "image_invalid", "Compile without --offload-compress.",
                    "The program's device code is compressed, which kgrade does not read.");
    if (!bundle_open(data, size, &b))
        return fail(err, "image_invalid", NULL,
                    "The program's device code is neither a code object nor a bundle of them.");
    while (b.left > 0) {
        if (!bundle_next(&b, &e))
            return fail(err, "image_invalid", NULL,
                        "The program's bundle of device code is broken.");
        if (!entry_target(&e, name))
            continue;
        size_t used = strlen(targets);
        snprintf(targets + used, sizeof targets - used, "%s%s", used ? ", " : "", name);
        /* The one that names the most features is made for this device the most. */
        if (code_object_target_fits(name, target) && (!best.name || e.name_size > best.name_size))
            best = e;
    }
    if (!best.name)
        return fail(err, "image_wrong_target", "Compile with --offload-arch for this device.",
                    "The program has device code for %s, not for %s.",
                    targets[0] ? targets : "no target", target);
    *ret = b.data + best.offset;
    *ret_size = best.size;
    return 0;
}

static size_t no_more_than(uint64_t bytes, size_t size)
{
    return bytes < size ? (size_t)bytes : size;
}

/* Linkers write the table of sections last; a file without one ends with its last segment. */
static size_t elf_extent(const uint8_t *data, size_t size)
{
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof header);
    uint64_t end = header.e_shoff > size
                       ? size
                       : header.e_shoff + (uint64_t)header.e_shnum * sizeof(Elf64_Shdr);
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > size || at + sizeof segment > size)
            break;
        memcpy(&segment, data + at, sizeof segment);
        if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
            return size;
        if (segment.p_offset + segment.p_filesz > end)
            end = segment.p_offset + segment.p_filesz;
    }
    return no_more_than(end, size);
}

size_t code_object_extent(const void *data, size_t size)
{
    struct bundle b;
    struct entry e;
    if (code_object_is(data, size))
        return elf_extent(data, size);
    if (!bundle_open(data, size, &b))
        return 0;
    size_t end = b.at;
    while (b.left > 0) {
        if (!bundle_next(&b, &e))
            return size;
        if (e.offset + e.size > end)
            end = (size_t)(e.offset + e.size);
    }
    return end > b.at ? end : b.at;
}
