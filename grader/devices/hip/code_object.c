#include "code_object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "metadata.h"

#define MACHINE_AMDGPU 224 /* EM_AMDGPU */
#define NOTE_METADATA 32   /* NT_AMDGPU_METADATA */
#define NOTE_OWNER "AMDGPU"

static bool inside(const struct code_object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->size && size <= object->size - offset;
}

static int broken(kgrade_error *err, const char *what)
{
    return fail(err, "image_invalid", NULL, "The code object is broken: %s.", what);
}

static Elf64_Ehdr file_header(const struct code_object *object)
{
    Elf64_Ehdr header;
    memcpy(&header, object->data, sizeof header);
    return header;
}

static Elf64_Shdr section(const struct code_object *object, uint32_t index)
{
    Elf64_Shdr header;
    memcpy(&header, object->data + object->sections + (uint64_t)index * sizeof header,
           sizeof header);
    return header;
}

bool code_object_is(const void *data, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, data, sizeof header);
    return !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == MACHINE_AMDGPU;
}

/* One note after the other; sets *ret where the metadata is. */
static bool find_note(const uint8_t *data, uint64_t size, const uint8_t **ret, size_t *ret_size)
{
    uint64_t at = 0;
    Elf64_Nhdr note;
    while (size - at >= sizeof note) {
        memcpy(&note, data + at, sizeof note);
        at += sizeof note;
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull;
        uint64_t contents = ((uint64_t)note.n_descsz + 3) & ~3ull;
        if (name > size - at || note.n_descsz > size - at - name)
            return false;
        if (note.n_type == NOTE_METADATA && note.n_namesz == sizeof NOTE_OWNER &&
            !memcmp(data + at, NOTE_OWNER, sizeof NOTE_OWNER)) {
            *ret = data + at + name;
            *ret_size = note.n_descsz;
            return true;
        }
        if (contents > size - at - name)
            return false;
        at += name + contents;
    }
    return false;
}

/* Where the loader looks for it too: in the segments, not in the sections. */
static int read_metadata(struct code_object *object, kgrade_error *err)
{
    Elf64_Ehdr header = file_header(object);
    const uint8_t *metadata = NULL;
    size_t size = 0;
    if (header.e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(object, header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr)))
        return broken(err, "its segments lie outside the file");
    for (uint32_t i = 0; i < header.e_phnum && !metadata; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, object->data + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_NOTE)
            continue;
        if (!inside(object, segment.p_offset, segment.p_filesz))
            return broken(err, "its notes lie outside the file");
        find_note(object->data + segment.p_offset, segment.p_filesz, &metadata, &size);
    }
    if (!metadata)
        return broken(err, "it has no metadata");
    if (size > CODE_OBJECT_MAX_METADATA)
        return broken(err, "its metadata is larger than any");
    return metadata_read(metadata, size, object, err);
}

/* The dynamic symbols: those that a host finds by name.  A file without sections has none. */
static int find_symbols(struct code_object *object, kgrade_error *err)
{
    Elf64_Ehdr header = file_header(object);
    object->sections = header.e_shoff;
    object->n_sections = header.e_shnum;
    /* So many that the number stands elsewhere, or a table that only others see. */
    if (object->n_sections == 0 && object->sections != 0)
        return broken(err, "its sections are not counted");
    if (object->n_sections == 0)
        return 0;
    if (header.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(object, object->sections, (uint64_t)object->n_sections * sizeof(Elf64_Shdr)))
        return broken(err, "its sections lie outside the file");
    for (uint32_t i = 1; i < object->n_sections; i++) {
        Elf64_Shdr s = section(object, i);
        if (s.sh_type != SHT_DYNSYM)
            continue;
        if (s.sh_entsize != sizeof(Elf64_Sym) || !inside(object, s.sh_offset, s.sh_size) ||
            s.sh_link >= object->n_sections)
            return broken(err, "its symbols lie outside the file");
        Elf64_Shdr strings = section(object, s.sh_link);
        if (strings.sh_type != SHT_STRTAB || strings.sh_size == 0 ||
            !inside(object, strings.sh_offset, strings.sh_size) ||
            object->data[strings.sh_offset + strings.sh_size - 1] != 0)
            return broken(err, "the names of its symbols lie outside the file");
        object->symbols = s.sh_offset;
        object->n_symbols = s.sh_size / sizeof(Elf64_Sym);
        object->strings = strings.sh_offset;
        object->strings_size = strings.sh_size;
        return 0;
    }
    return 0;
}

struct code_object *code_object_parse(const void *data, size_t size, kgrade_error *err)
{
    if (!code_object_is(data, size)) {
        fail(err, "image_invalid", NULL, "The image is not an AMDGPU code object.");
        return NULL;
    }
    struct code_object *object = calloc(1, sizeof *object);
    if (!object) {
        fail(err, "out_of_memory", NULL, "No memory to read a code object.");
        return NULL;
    }
    object->data = data;
    object->size = size;
    if (read_metadata(object, err) || find_symbols(object, err)) {
        code_object_free(object);
        return NULL;
    }
    return object;
}

void code_object_free(struct code_object *object)
{
    if (!object)
        return;
    for (size_t i = 0; i < object->n_kernels; i++) {
        free(object->kernels[i].name);
        free(object->kernels[i].symbol);
        free(object->kernels[i].args);
    }
    free(object->kernels);
    free(object);
}

const struct code_object_kernel *code_object_kernel(const struct code_object *object,
                                                    const char *name)
{
    for (size_t i = 0; i < object->n_kernels; i++)
        if (!strcmp(object->kernels[i].name, name))
            return &object->kernels[i];
    return NULL;
}

/* Whether the loader writes an address into the bytes at `address`. */
static bool is_relocated(const struct code_object *object, uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 1; i < object->n_sections; i++) {
        Elf64_Shdr s = section(object, i);
        if (s.sh_type != SHT_RELA || !inside(object, s.sh_offset, s.sh_size))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s.sh_size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            memcpy(&entry, object->data + s.sh_offset + at, sizeof entry);
            /* The differences cannot overflow: each is of a number and a smaller one. */
            if (entry.r_offset >= address ? entry.r_offset - address < bytes
                                          : address - entry.r_offset < 8)
                return true;
        }
    }
    return false;
}

static bool is_descriptor(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && !strcmp(name + n - 3, ".kd");
}

bool code_object_next_variable(const struct code_object *object, uint64_t *cursor,
                               struct code_object_variable *ret)
{
    while (*cursor + 1 < object->n_symbols) {
        Elf64_Sym entry;
        memcpy(&entry, object->data + object->symbols + ++*cursor * sizeof entry, sizeof entry);
        if (ELF64_ST_TYPE(entry.st_info) != STT_OBJECT || entry.st_shndx == SHN_UNDEF ||
            entry.st_shndx >= object->n_sections || entry.st_size == 0 ||
            entry.st_name >= object->strings_size)
            continue;
        const char *name = (const char *)object->data + object->strings + entry.st_name;
        Elf64_Shdr home = section(object, entry.st_shndx);
        if (!name[0] || is_descriptor(name) || entry.st_value < home.sh_addr)
            continue;
        struct code_object_variable v = {
            .name = name, .bytes = entry.st_size, .constant = !(home.sh_flags & SHF_WRITE)};
        uint64_t from = entry.st_value - home.sh_addr;
        if (from > home.sh_size || v.bytes > home.sh_size - from)
            continue;
        if (home.sh_type != SHT_NOBITS) {
            if (!inside(object, home.sh_offset, home.sh_size))
                continue;
            v.initial = object->data + home.sh_offset + from;
            v.relocated = is_relocated(object, entry.st_value, v.bytes);
        }
        *ret = v;
        return true;
    }
    return false;
}

static bool is_writable(const struct code_object *object, uint32_t index)
{
    Elf64_Shdr s = section(object, index);
    return (s.sh_flags & SHF_WRITE) && (s.sh_type == SHT_PROGBITS || s.sh_type == SHT_NOBITS) &&
           s.sh_size > 0;
}

/* Whether a table of symbols names a variable that only the module itself finds. */
static bool has_local_variable(const struct code_object *object, const Elf64_Shdr *table)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym entry;
        memcpy(&entry, object->data + table->sh_offset + at, sizeof entry);
        if (ELF64_ST_TYPE(entry.st_info) == STT_OBJECT &&
            ELF64_ST_BIND(entry.st_info) == STB_LOCAL && entry.st_size > 0 &&
            entry.st_shndx != SHN_UNDEF && entry.st_shndx < object->n_sections &&
            is_writable(object, entry.st_shndx))
            return true;
    }
    return false;
}

bool code_object_hides_state(const struct code_object *object)
{
    struct code_object_variable v;
    uint64_t cursor = 0, writable = 0, known = 0;
    for (uint32_t i = 1; i < object->n_sections; i++) {
        Elf64_Shdr s = section(object, i);
        if (s.sh_type == SHT_SYMTAB)
            return !inside(object, s.sh_offset, s.sh_size) || has_local_variable(object, &s);
        writable = is_writable(object, i) && s.sh_size <= UINT64_MAX - writable
                       ? writable + s.sh_size
                       : writable;
    }
    /* Without its table nothing tells a variable from what lies between two. */
    while (code_object_next_variable(object, &cursor, &v))
        known += v.constant || v.bytes > writable - known ? 0 : v.bytes;
    return known < writable;
}
