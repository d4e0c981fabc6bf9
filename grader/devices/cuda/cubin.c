#include "cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN_MACHINE 190 /* EM_CUDA */
#define CUBIN_MAX_SECTIONS 65536u
#define CUBIN_MAX_CALLGRAPH_SYMBOLS (1u << 20)
#define CUBIN_MAX_NAME 4096 /* of a section */

static bool inside(const struct cubin *cubin, uint64_t offset, uint64_t size)
{
    return offset <= cubin->size && size <= cubin->size - offset;
}

static Elf64_Shdr section(const struct cubin *cubin, uint32_t index)
{
    Elf64_Shdr header;
    memcpy(&header, cubin->data + cubin->sections + (uint64_t)index * sizeof header, sizeof header);
    return header;
}

static Elf64_Sym symbol(const struct cubin *cubin, uint64_t index)
{
    Elf64_Sym entry;
    memcpy(&entry, cubin->data + cubin->symbols + index * sizeof entry, sizeof entry);
    return entry;
}

/* A name in a string table whose last byte was checked to be NUL; "" for an offset outside. */
static const char *text(const struct cubin *cubin, uint64_t table, uint64_t table_size,
                        uint64_t offset)
{
    return offset < table_size ? (const char *)cubin->data + table + offset : "";
}

static bool string_table(const struct cubin *cubin, uint32_t index, uint64_t *ret_offset,
                         uint64_t *ret_size)
{
    if (index == 0 || index >= cubin->n_sections)
        return false;
    Elf64_Shdr header = section(cubin, index);
    if (header.sh_type != SHT_STRTAB || header.sh_size == 0 ||
        !inside(cubin, header.sh_offset, header.sh_size) ||
        cubin->data[header.sh_offset + header.sh_size - 1] != 0)
        return false;
    *ret_offset = header.sh_offset;
    *ret_size = header.sh_size;
    return true;
}

bool cubin_parse(const void *data, size_t size, struct cubin *ret)
{
    struct cubin c = {.data = data, .size = size};
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, data, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != CUBIN_MACHINE ||
        header.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    c.sections = header.e_shoff;
    c.n_sections = header.e_shnum;
    /* More sections than fit the field: the number is in the first section's size. */
    if (c.n_sections == 0 && c.sections && inside(&c, c.sections, sizeof(Elf64_Shdr))) {
        uint64_t n = section(&c, 0).sh_size;
        c.n_sections = n > CUBIN_MAX_SECTIONS ? 0 : (uint32_t)n;
    }
    uint32_t names = header.e_shstrndx;
    if (c.n_sections == 0 || !inside(&c, c.sections, (uint64_t)c.n_sections * sizeof(Elf64_Shdr)))
        return false;
    if (names == SHN_XINDEX)
        names = section(&c, 0).sh_link;
    if (!string_table(&c, names, &c.section_names, &c.section_names_size))
        return false;
    for (uint32_t i = 1; i < c.n_sections; i++) {
        Elf64_Shdr s = section(&c, i);
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (s.sh_entsize != sizeof(Elf64_Sym) || !inside(&c, s.sh_offset, s.sh_size) ||
            !string_table(&c, s.sh_link, &c.strings, &c.strings_size))
            return false;
        c.symbols = s.sh_offset;
        c.n_symbols = s.sh_size / sizeof(Elf64_Sym);
        *ret = c;
        return true;
    }
    return false;
}

static const char *symbol_name(const struct cubin *cubin, const Elf64_Sym *entry)
{
    return text(cubin, cubin->strings, cubin->strings_size, entry->st_name);
}

bool cubin_has_kernel(const struct cubin *cubin, const char *name)
{
    for (uint64_t i = 1; i < cubin->n_symbols; i++) {
        Elf64_Sym entry = symbol(cubin, i);
        if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && entry.st_shndx != SHN_UNDEF &&
            !strcmp(symbol_name(cubin, &entry), name))
            return true;
    }
    return false;
}

static bool is_needed(const struct cubin *cubin, const char *prefix)
{
    for (uint64_t i = 1; i < cubin->n_symbols; i++) {
        Elf64_Sym entry = symbol(cubin, i);
        if (entry.st_shndx == SHN_UNDEF &&
            !strncmp(symbol_name(cubin, &entry), prefix, strlen(prefix)))
            return true;
    }
    return false;
}

bool cubin_launches(const struct cubin *cubin)
{
    /* What the device runtime calls in the driver to launch grids, and launching a graph. */
    return is_needed(cubin, "__cuda_syscall_cnp") || is_needed(cubin, "cudaGraphLaunch");
}

/* Caller and callee, as indices of symbols; callees from 2^32 - 4 on mean something else. */
struct call {
    uint32_t from, to;
};

static bool call_graph(const struct cubin *cubin, Elf64_Shdr *ret)
{
    for (uint32_t i = 1; i < cubin->n_sections; i++) {
        *ret = section(cubin, i);
        if (!strcmp(text(cubin, cubin->section_names, cubin->section_names_size, ret->sh_name),
                    ".nv.callgraph"))
            return inside(cubin, ret->sh_offset, ret->sh_size);
    }
    return false;
}

bool cubin_calls(const struct cubin *cubin, const char *kernel, const char *function)
{
    Elf64_Shdr graph;
    if (!is_needed(cubin, function))
        return false;
    if (!call_graph(cubin, &graph) || cubin->n_symbols > CUBIN_MAX_CALLGRAPH_SYMBOLS)
        return true;
    bool *reached = calloc(cubin->n_symbols + 1, sizeof *reached), grows = true, found = false;
    if (!reached)
        return true;
    for (uint64_t i = 1; i < cubin->n_symbols; i++) {
        Elf64_Sym entry = symbol(cubin, i);
        reached[i] = !strcmp(symbol_name(cubin, &entry), kernel);
    }
    while (grows && !found) {
        grows = false;
        for (uint64_t at = 0; at + sizeof(struct call) <= graph.sh_size;
             at += sizeof(struct call)) {
            struct call call;
            memcpy(&call, cubin->data + graph.sh_offset + at, sizeof call);
            if (call.from >= cubin->n_symbols || call.to >= cubin->n_symbols ||
                !reached[call.from] || reached[call.to])
                continue;
            Elf64_Sym callee = symbol(cubin, call.to);
            reached[call.to] = grows = true;
            found = found || !strcmp(symbol_name(cubin, &callee), function);
        }
    }
    free(reached);
    return found;
}

/* Whether the linker or loader writes an address into bytes from..from+bytes-1 of the section. */
static bool is_relocated(const struct cubin *cubin, uint32_t target, uint64_t from, uint64_t bytes)
{
    for (uint32_t i = 1; i < cubin->n_sections; i++) {
        Elf64_Shdr s = section(cubin, i);
        uint64_t step = s.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        if ((s.sh_type != SHT_RELA && s.sh_type != SHT_REL) || s.sh_info != target ||
            !inside(cubin, s.sh_offset, s.sh_size))
            continue;
        for (uint64_t at = 0; at + step <= s.sh_size; at += step) {
            Elf64_Rel entry; /* the common beginning of both kinds */
            memcpy(&entry, cubin->data + s.sh_offset + at, sizeof entry);
            if (entry.r_offset < from + bytes && entry.r_offset + 8 > from)
                return true;
        }
    }
    return false;
}

bool cubin_next_variable(const struct cubin *cubin, uint64_t *cursor, struct cubin_variable *ret)
{
    while (++*cursor < cubin->n_symbols) {
        Elf64_Sym entry = symbol(cubin, *cursor);
        const char *name = symbol_name(cubin, &entry);
        if (ELF64_ST_TYPE(entry.st_info) != STT_OBJECT || entry.st_shndx == SHN_UNDEF ||
            entry.st_shndx >= cubin->n_sections || entry.st_size == 0 || name[0] == '\0' ||
            name[0] == '$')
            continue;
        Elf64_Shdr home = section(cubin, entry.st_shndx);
        const char *where =
            text(cubin, cubin->section_names, cubin->section_names_size, home.sh_name);
        bool constant = !strcmp(where, ".nv.constant3");
        if (!constant && strncmp(where, ".nv.global", strlen(".nv.global")))
            continue;
        struct cubin_variable v = {.name = name, .bytes = entry.st_size, .constant = constant};
        uint64_t from =
            entry.st_value >= home.sh_addr ? entry.st_value - home.sh_addr : entry.st_value;
        if (home.sh_type != SHT_NOBITS) {
            if (from > home.sh_size || v.bytes > home.sh_size - from ||
                !inside(cubin, home.sh_offset, home.sh_size))
                continue;
            v.initial = cubin->data + home.sh_offset + from;
            v.relocated = is_relocated(cubin, entry.st_shndx, from, v.bytes);
        }
        *ret = v;
        return true;
    }
    return false;
}

/*
 * Attributes of a module (.nv.info) and of a kernel (.nv.info.KERNEL).  NVIDIA does not document them; the numbers are
 * those that agree with what `ptxas -v` prints and cuobjdump names for CUDA 11 to 13.  An entry is a format byte, an
 * attribute byte and two bytes which are a value, or for INFO_SIZED the size of what follows.
 */
enum {
    INFO_SIZED = 4,
    INFO_FRAME_SIZE = 0x11,  /* symbol, bytes */
    INFO_REGISTERS = 0x2f,   /* symbol, number */
    INFO_ANNOTATIONS = 0x55, /* pairs: kind, offset of the instruction */
    ANNOTATION_SPILL = 1,
};

/* From Hopper on, the first KiB of a block's shared memory is the system's, and the section counts it. */
#define SYSTEM_SHARED_BYTES 1024u
#define SYSTEM_SHARED_FROM 90u

struct info {
    const uint8_t *at, *end;
};

static bool info_of(const struct cubin *cubin, const char *name, struct info *ret)
{
    for (uint32_t i = 1; i < cubin->n_sections; i++) {
        Elf64_Shdr s = section(cubin, i);
        if (!strcmp(text(cubin, cubin->section_names, cubin->section_names_size, s.sh_name),
                    name) &&
            s.sh_type != SHT_NOBITS && inside(cubin, s.sh_offset, s.sh_size)) {
            *ret = (struct info){cubin->data + s.sh_offset, cubin->data + s.sh_offset + s.sh_size};
            return true;
        }
    }
    return false;
}

/* The next entry with contents; false at the end. */
static bool info_next(struct info *info, uint8_t *ret_attribute, const uint8_t **ret_data,
                      uint16_t *ret_size)
{
    while (info->end - info->at >= 4) {
        uint8_t format = info->at[0];
        uint16_t size;
        *ret_attribute = info->at[1];
        memcpy(&size, info->at + 2, sizeof size);
        info->at += 4;
        if (format != INFO_SIZED)
            continue;
        if (size > info->end - info->at)
            return false;
        *ret_data = info->at;
        *ret_size = size;
        info->at += size;
        return true;
    }
    return false;
}

static uint32_t word_at(const uint8_t *data, size_t index)
{
    uint32_t word;
    memcpy(&word, data + index * sizeof word, sizeof word);
    return word;
}

static bool is_symbol(const struct cubin *cubin, uint32_t index, const char *name)
{
    if (index >= cubin->n_symbols)
        return false;
    Elf64_Sym entry = symbol(cubin, index);
    return !strcmp(symbol_name(cubin, &entry), name);
}

/* 90 for sm_90.  Where the number is depends on the version of the file's ABI. */
static unsigned architecture(const struct cubin *cubin)
{
    Elf64_Ehdr header;
    memcpy(&header, cubin->data, sizeof header);
    return (header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 : header.e_flags) & 0xff;
}

static uint64_t shared_bytes(const struct cubin *cubin, const char *kernel)
{
    static const char prefix[] = ".nv.shared.";
    for (uint32_t i = 1; i < cubin->n_sections; i++) {
        Elf64_Shdr s = section(cubin, i);
        const char *name = text(cubin, cubin->section_names, cubin->section_names_size, s.sh_name);
        if (strncmp(name, prefix, sizeof prefix - 1) || strcmp(name + sizeof prefix - 1, kernel))
            continue;
        bool system = architecture(cubin) >= SYSTEM_SHARED_FROM && s.sh_size >= SYSTEM_SHARED_BYTES;
        return system ? s.sh_size - SYSTEM_SHARED_BYTES : s.sh_size;
    }
    return 0;
}

static uint32_t count_spills(const struct cubin *cubin, const char *kernel)
{
    char name[CUBIN_MAX_NAME];
    struct info info;
    const uint8_t *data;
    uint8_t attribute;
    uint16_t size;
    uint32_t n = 0;
    if (snprintf(name, sizeof name, ".nv.info.%s", kernel) >= (int)sizeof name ||
        !info_of(cubin, name, &info))
        return 0;
    while (info_next(&info, &attribute, &data, &size))
        for (size_t i = 0; attribute == INFO_ANNOTATIONS && i + 2 <= size / sizeof(uint32_t);
             i += 2)
            n += word_at(data, i) == ANNOTATION_SPILL;
    return n;
}

bool cubin_kernel_resources(const struct cubin *cubin, const char *kernel,
                            struct cubin_resources *ret)
{
    struct cubin_resources r = {0};
    struct info info;
    const uint8_t *data;
    uint8_t attribute;
    uint16_t size;
    bool told = false;
    if (!cubin_has_kernel(cubin, kernel) || !info_of(cubin, ".nv.info", &info))
        return false;
    while (info_next(&info, &attribute, &data, &size)) {
        if ((attribute != INFO_REGISTERS && attribute != INFO_FRAME_SIZE) || size < 8 ||
            !is_symbol(cubin, word_at(data, 0), kernel))
            continue;
        if (attribute == INFO_REGISTERS)
            r.registers = word_at(data, 1);
        else
            r.stack_bytes = word_at(data, 1);
        told = told || attribute == INFO_REGISTERS;
    }
    if (!told)
        return false;
    r.shared_bytes = shared_bytes(cubin, kernel);
    r.spills = count_spills(cubin, kernel);
    *ret = r;
    return true;
}
