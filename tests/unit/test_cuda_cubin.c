/* Cubins are put together here by hand: they come from candidates, and what matters is what broken ones do. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/cubin.h"

enum {
    SECTION_NAMES = 1,
    SECTION_STRINGS,
    SECTION_SYMBOLS,
    SECTION_TEXT,
    SECTION_GLOBAL,
    SECTION_INITIAL,
    SECTION_CONSTANT,
    SECTION_RELOCATIONS,
    SECTION_CALLS,
    SECTION_INFO,
    SECTION_INFO_OF_K,
    SECTION_SHARED_OF_K,
    N_SECTIONS
};

#define N_SYMBOLS 10

struct image {
    Elf64_Ehdr header;
    Elf64_Shdr sections[N_SECTIONS];
    char names[256], strings[256];
    Elf64_Sym symbols[N_SYMBOLS];
    uint8_t initial[32];
    Elf64_Rela relocation;
    uint32_t calls[4][2];
    uint32_t info[7], info_of_k[5];
};

static uint32_t add_text(char *table, uint32_t *used, const char *text)
{
    uint32_t at = *used;
    memcpy(table + at, text, strlen(text) + 1);
    *used += (uint32_t)strlen(text) + 1;
    return at;
}

static void add_section(struct image *m, uint32_t *used, int index, const char *name, uint32_t type,
                        const void *data, uint64_t size, uint64_t entry)
{
    Elf64_Shdr *s = &m->sections[index];
    s->sh_name = add_text(m->names, used, name);
    s->sh_type = type;
    s->sh_offset = data ? (uint64_t)((const char *)data - (const char *)m) : 0;
    s->sh_size = size;
    s->sh_entsize = entry;
}

static void add_symbol(struct image *m, uint32_t *used, int index, const char *name,
                       unsigned char type, int section, uint64_t value, uint64_t size)
{
    m->symbols[index].st_name = add_text(m->strings, used, name);
    m->symbols[index].st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    m->symbols[index].st_shndx = (uint16_t)section;
    m->symbols[index].st_value = value;
    m->symbols[index].st_size = size;
}

/* Kernels k (calls helper, which calls malloc) and quiet; variables zeroed, set, pointer, weights. */
static struct image *good(void)
{
    struct image *m = calloc(1, sizeof *m);
    memcpy(m->header.e_ident, ELFMAG, SELFMAG);
    m->header.e_ident[EI_CLASS] = ELFCLASS64;
    m->header.e_ident[EI_DATA] = ELFDATA2LSB;
    m->header.e_machine = 190;
    m->header.e_shoff = offsetof(struct image, sections);
    m->header.e_shentsize = sizeof(Elf64_Shdr);
    m->header.e_shnum = N_SECTIONS;
    m->header.e_shstrndx = SECTION_NAMES;
    uint32_t names = 1, strings = 1;
    add_section(m, &names, SECTION_NAMES, ".shstrtab", SHT_STRTAB, m->names, sizeof m->names, 0);
    add_section(m, &names, SECTION_STRINGS, ".strtab", SHT_STRTAB, m->strings, sizeof m->strings,
                0);
    add_section(m, &names, SECTION_SYMBOLS, ".symtab", SHT_SYMTAB, m->symbols, sizeof m->symbols,
                sizeof(Elf64_Sym));
    m->sections[SECTION_SYMBOLS].sh_link = SECTION_STRINGS;
    add_section(m, &names, SECTION_TEXT, ".text.k", SHT_PROGBITS, m->initial, 0, 0);
    add_section(m, &names, SECTION_GLOBAL, ".nv.global", SHT_NOBITS, NULL, 64, 0);
    add_section(m, &names, SECTION_INITIAL, ".nv.global.init", SHT_PROGBITS, m->initial, 16, 0);
    add_section(m, &names, SECTION_CONSTANT, ".nv.constant3", SHT_PROGBITS, m->initial + 16, 16, 0);
    add_section(m, &names, SECTION_RELOCATIONS, ".rela.nv.global.init", SHT_RELA, &m->relocation,
                sizeof m->relocation, sizeof(Elf64_Rela));
    m->sections[SECTION_RELOCATIONS].sh_info = SECTION_INITIAL;
    m->relocation.r_offset = 8;
    add_section(m, &names, SECTION_CALLS, ".nv.callgraph", SHT_LOPROC + 1, m->calls,
                sizeof m->calls, 8);
    add_section(m, &names, SECTION_INFO, ".nv.info", SHT_LOPROC, m->info, sizeof m->info, 0);
    add_section(m, &names, SECTION_INFO_OF_K, ".nv.info.k", SHT_LOPROC, m->info_of_k,
                sizeof m->info_of_k, 0);
    add_section(m, &names, SECTION_SHARED_OF_K, ".nv.shared.k", SHT_NOBITS, NULL, 1536, 0);
    /* 40 registers and 272 bytes of stack for symbol 1, between them an entry without contents; one spill in k. */
    const uint32_t info[7] = {0x82f04, 1, 40, 0x01015f03, 0x81104, 1, 272};
    const uint32_t info_of_k[5] = {0x105504, 1, 0x230, 2, 0x240};
    memcpy(m->info, info, sizeof info);
    memcpy(m->info_of_k, info_of_k, sizeof info_of_k);
    for (int i = 0; i < 32; i++)
        m->initial[i] = (uint8_t)(i + 1);
    add_symbol(m, &strings, 1, "k", STT_FUNC, SECTION_TEXT, 0, 0);
    add_symbol(m, &strings, 2, "quiet", STT_FUNC, SECTION_TEXT, 0, 0);
    add_symbol(m, &strings, 3, "helper", STT_FUNC, SECTION_TEXT, 0, 0);
    add_symbol(m, &strings, 4, "malloc", STT_FUNC, SHN_UNDEF, 0, 0);
    add_symbol(m, &strings, 5, "zeroed", STT_OBJECT, SECTION_GLOBAL, 0, 64);
    add_symbol(m, &strings, 6, "set", STT_OBJECT, SECTION_INITIAL, 4, 4);
    add_symbol(m, &strings, 7, "pointer", STT_OBJECT, SECTION_INITIAL, 8, 8);
    add_symbol(m, &strings, 8, "weights", STT_OBJECT, SECTION_CONSTANT, 0, 16);
    add_symbol(m, &strings, 9, "$str", STT_OBJECT, SECTION_INITIAL, 0, 4);
    const uint32_t calls[4][2] = {{0, UINT32_MAX}, {3, 4}, {1, 3}, {0, UINT32_MAX - 1}};
    memcpy(m->calls, calls, sizeof calls);
    return m;
}

static void kernels_are_found_by_name(void **state)
{
    (void)state;
    struct image *m = good();
    struct cubin c;
    assert_true(cubin_parse(m, sizeof *m, &c));
    assert_true(cubin_has_kernel(&c, "k"));
    assert_true(cubin_has_kernel(&c, "quiet"));
    assert_false(cubin_has_kernel(&c, "malloc")); /* not defined here */
    assert_false(cubin_has_kernel(&c, "set"));    /* not code */
    assert_false(cubin_has_kernel(&c, "q"));
    free(m);
}

static void variables_come_with_their_values(void **state)
{
    (void)state;
    struct image *m = good();
    struct cubin c;
    struct cubin_variable v[5];
    uint64_t cursor = 0;
    size_t n = 0;
    assert_true(cubin_parse(m, sizeof *m, &c));
    while (n < 5 && cubin_next_variable(&c, &cursor, &v[n]))
        n++;
    assert_int_equal(n, 4); /* literals are none */
    assert_string_equal(v[0].name, "zeroed");
    assert_true(v[0].bytes == 64 && !v[0].initial && !v[0].constant && !v[0].relocated);
    assert_string_equal(v[1].name, "set");
    assert_memory_equal(v[1].initial, m->initial + 4, 4);
    assert_false(v[1].relocated);
    assert_string_equal(v[2].name, "pointer");
    assert_true(v[2].relocated);
    assert_string_equal(v[3].name, "weights");
    assert_true(v[3].constant && v[3].bytes == 16);
    assert_memory_equal(v[3].initial, m->initial + 16, 16);
    free(m);
}

static void calls_are_followed(void **state)
{
    (void)state;
    struct image *m = good();
    struct cubin c;
    assert_true(cubin_parse(m, sizeof *m, &c));
    assert_true(cubin_calls(&c, "k", "malloc"));
    assert_false(cubin_calls(&c, "quiet", "malloc"));
    assert_false(cubin_calls(&c, "k", "free"));
    m->sections[SECTION_CALLS].sh_name = 0; /* without a call graph it may be anybody */
    assert_true(cubin_calls(&c, "quiet", "malloc"));
    free(m);
}

static void launches_from_the_device_are_seen(void **state)
{
    (void)state;
    struct image *m = good();
    struct cubin c;
    assert_true(cubin_parse(m, sizeof *m, &c));
    assert_false(cubin_launches(&c));
    uint32_t used = 200;
    m->symbols[4].st_name = add_text(m->strings, &used, "__cuda_syscall_cnpv2LaunchDeviceV2");
    assert_true(cubin_launches(&c));
    free(m);
}

static void resources_are_read(void **state)
{
    (void)state;
    struct image *m = good();
    struct cubin c;
    struct cubin_resources r = {0};
    m->header.e_flags = 80;
    assert_true(cubin_parse(m, sizeof *m, &c));
    assert_true(cubin_kernel_resources(&c, "k", &r));
    assert_true(r.registers == 40 && r.stack_bytes == 272 && r.spills == 1);
    assert_int_equal(r.shared_bytes, 1536);
    m->header.e_flags = 90; /* from Hopper on the first KiB is the system's */
    assert_true(cubin_kernel_resources(&c, "k", &r));
    assert_int_equal(r.shared_bytes, 512);
    m->header.e_ident[EI_ABIVERSION] = 8;
    m->header.e_flags = 80 << 8;
    assert_true(cubin_kernel_resources(&c, "k", &r));
    assert_int_equal(r.shared_bytes, 1536);
    assert_false(cubin_kernel_resources(&c, "quiet", &r)); /* nothing is said of it */
    assert_false(cubin_kernel_resources(&c, "set", &r));
    free(m);
}

static void other_files_are_not_cubins(void **state)
{
    (void)state;
    struct cubin c;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n// a text, not a cubin, and a long one";
    struct image *m = good();
    assert_false(cubin_parse(text, sizeof text, &c));
    assert_false(cubin_parse(text, 0, &c));
    m->header.e_machine = EM_X86_64;
    assert_false(cubin_parse(m, sizeof *m, &c));
    free(m);
}

/* Reads everything that can be read. */
static void use(const void *data, size_t size)
{
    struct cubin c;
    struct cubin_variable v;
    uint64_t cursor = 0, sum = 0;
    if (!cubin_parse(data, size, &c))
        return;
    cubin_has_kernel(&c, "k");
    cubin_calls(&c, "k", "malloc");
    cubin_launches(&c);
    struct cubin_resources resources = {0};
    sum += cubin_kernel_resources(&c, "k", &resources) ? resources.spills : 0;
    while (cubin_next_variable(&c, &cursor, &v)) {
        sum += strlen(v.name);
        for (uint64_t i = 0; v.initial && i < v.bytes; i++)
            sum += v.initial[i];
    }
    (void)*(volatile uint64_t *)&sum;
}

static void cut_files_are_never_read_past_their_end(void **state)
{
    (void)state;
    struct image *m = good();
    for (size_t size = 0; size <= sizeof *m; size++) {
        uint8_t *exact =
            malloc(size ? size : 1); /* so that the sanitizer sees every byte too many */
        memcpy(exact, m, size);
        use(exact, size);
        free(exact);
    }
    free(m);
}

static void damaged_files_are_never_read_past_their_end(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,      1,          8,          0x7f,           0xff,
                                      0xffff, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, INT64_MAX};
    for (size_t at = 16; at + 8 <= sizeof(struct image); at += 2)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct image *m = good();
            memcpy((uint8_t *)m + at, &values[i], i % 2 ? 8 : 4);
            use(m, sizeof *m);
            free(m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_found_by_name),
        cmocka_unit_test(variables_come_with_their_values),
        cmocka_unit_test(calls_are_followed),
        cmocka_unit_test(launches_from_the_device_are_seen),
        cmocka_unit_test(resources_are_read),
        cmocka_unit_test(other_files_are_not_cubins),
        cmocka_unit_test(cut_files_are_never_read_past_their_end),
        cmocka_unit_test(damaged_files_are_never_read_past_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
