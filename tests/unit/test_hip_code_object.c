/* Code objects are put together here by hand: they come from candidates, and what matters is what broken ones do. */
#define _GNU_SOURCE
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/hip/code_object.h"
#include "grader/devices/hip/describe.h"

enum { SECTION_NONE, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_DATA, SECTION_BSS, SECTION_RODATA };
enum { SECTION_RELOCATIONS = SECTION_RODATA + 1, N_SECTIONS };

#define N_SYMBOLS 6
#define MOST_METADATA 4096
#define TARGET "amdgcn-amd-amdhsa--gfx90a:xnack-"

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Shdr sections[N_SECTIONS];
    Elf64_Sym symbols[N_SYMBOLS];
    char strings[128];
    uint8_t data[32];
    Elf64_Rela relocation;
    Elf64_Nhdr note;
    char owner[8];
    uint8_t metadata[MOST_METADATA];
};

struct text {
    uint8_t bytes[MOST_METADATA];
    size_t n;
};

static void put(struct text *t, uint8_t byte)
{
    assert_true(t->n < sizeof t->bytes);
    t->bytes[t->n++] = byte;
}

static void put_text(struct text *t, const char *text)
{
    size_t n = strlen(text);
    if (n < 32) {
        put(t, (uint8_t)(0xa0 | n));
    } else {
        put(t, 0xd9);
        put(t, (uint8_t)n);
    }
    for (size_t i = 0; i < n; i++)
        put(t, (uint8_t)text[i]);
}

static void put_number(struct text *t, const char *key, uint32_t n)
{
    put_text(t, key);
    put(t, 0xce);
    for (int shift = 24; shift >= 0; shift -= 8)
        put(t, (uint8_t)(n >> shift));
}

static void put_arg(struct text *t, uint32_t offset, uint32_t size, const char *kind)
{
    put(t, 0x83);
    put_number(t, ".offset", offset);
    put_number(t, ".size", size);
    put_text(t, ".value_kind");
    put_text(t, kind);
}

/* Kernel k(float *, 12 bytes, int) and what the runtime adds; one number that nobody asks for. */
static void put_kernel(struct text *t)
{
    put(t, 0x8c);
    put_text(t, ".name");
    put_text(t, "k");
    put_text(t, ".symbol");
    put_text(t, "k.kd");
    put_text(t, ".args");
    put(t, 0x94);
    put_arg(t, 0, 8, "global_buffer");
    put_arg(t, 8, 12, "by_value");
    put_arg(t, 20, 4, "by_value");
    put_arg(t, 24, 8, "hidden_hostcall_buffer");
    put_number(t, ".kernarg_segment_size", 32);
    put_number(t, ".vgpr_count", 50);
    put_number(t, ".sgpr_count", 40);
    put_number(t, ".vgpr_spill_count", 3);
    put_number(t, ".sgpr_spill_count", 2);
    put_number(t, ".group_segment_fixed_size", 400);
    put_number(t, ".private_segment_fixed_size", 160);
    put_number(t, ".wavefront_size", 64);
    put_text(t, ".language_version");
    put(t, 0x92);
    put(t, 2);
    put(t, 0);
}

static void put_all(struct text *t)
{
    t->n = 0;
    put(t, 0x83);
    put_text(t, "amdhsa.version");
    put(t, 0x92);
    put(t, 1);
    put(t, 1);
    put_text(t, "amdhsa.kernels");
    put(t, 0x91);
    put_kernel(t);
    put_text(t, "amdhsa.target");
    put_text(t, TARGET);
}

static void add_section(struct image *m, int index, uint32_t type, const void *data, uint64_t size)
{
    m->sections[index] = (Elf64_Shdr){
        .sh_type = type,
        .sh_offset = (uint64_t)((const char *)data - (const char *)m),
        .sh_size = size,
        .sh_link = index == SECTION_SYMBOLS ? SECTION_STRINGS : 0,
        .sh_entsize = index == SECTION_SYMBOLS ? sizeof(Elf64_Sym) : 0,
        .sh_flags = index == SECTION_RODATA ? SHF_ALLOC : SHF_ALLOC | SHF_WRITE,
        .sh_addr = (uint64_t)index << 12,
    };
}

static void add_symbol(struct image *m, size_t *used, int index, const char *name, int home,
                       uint64_t offset, uint64_t size)
{
    memcpy(m->strings + *used, name, strlen(name) + 1);
    m->symbols[index] = (Elf64_Sym){.st_name = (uint32_t)*used,
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                    .st_shndx = (uint16_t)home,
                                    .st_value = ((uint64_t)home << 12) + offset,
                                    .st_size = size};
    *used += strlen(name) + 1;
}

static struct image *image_with(const struct text *metadata)
{
    struct image *m = calloc(1, sizeof *m);
    size_t used = 1;
    memcpy(m->header.e_ident, ELFMAG, SELFMAG);
    m->header.e_ident[EI_CLASS] = ELFCLASS64;
    m->header.e_ident[EI_DATA] = ELFDATA2LSB;
    m->header.e_machine = 224;
    m->header.e_phoff = offsetof(struct image, segment);
    m->header.e_phentsize = sizeof(Elf64_Phdr);
    m->header.e_phnum = 1;
    m->header.e_shoff = offsetof(struct image, sections);
    m->header.e_shentsize = sizeof(Elf64_Shdr);
    m->header.e_shnum = N_SECTIONS;
    m->segment.p_type = PT_NOTE;
    m->segment.p_offset = offsetof(struct image, note);
    m->segment.p_filesz = sizeof *m - offsetof(struct image, note);
    m->note = (Elf64_Nhdr){.n_namesz = 7, .n_descsz = (uint32_t)metadata->n, .n_type = 32};
    memcpy(m->owner, "AMDGPU", 7);
    memcpy(m->metadata, metadata->bytes, metadata->n);
    for (size_t i = 0; i < sizeof m->data; i++)
        m->data[i] = (uint8_t)(i + 1);
    add_section(m, SECTION_SYMBOLS, SHT_DYNSYM, m->symbols, sizeof m->symbols);
    add_section(m, SECTION_STRINGS, SHT_STRTAB, m->strings, sizeof m->strings);
    add_section(m, SECTION_DATA, SHT_PROGBITS, m->data, 16);
    add_section(m, SECTION_BSS, SHT_NOBITS, m->data + 16, 64);
    add_section(m, SECTION_RODATA, SHT_PROGBITS, m->data + 16, 16);
    add_section(m, SECTION_RELOCATIONS, SHT_RELA, &m->relocation, sizeof m->relocation);
    m->relocation.r_offset = ((uint64_t)SECTION_DATA << 12) + 8;
    add_symbol(m, &used, 1, "set", SECTION_DATA, 4, 4);
    add_symbol(m, &used, 2, "pointer", SECTION_DATA, 8, 8);
    add_symbol(m, &used, 3, "k.kd", SECTION_RODATA, 0, 16);
    add_symbol(m, &used, 4, "zeroed", SECTION_BSS, 0, 64);
    add_symbol(m, &used, 5, "table", SECTION_RODATA, 4, 8);
    return m;
}

static struct image *good(void)
{
    struct text t;
    put_all(&t);
    return image_with(&t);
}

static void kernels_are_read(void **state)
{
    (void)state;
    struct image *m = good();
    cleanup_code_object struct code_object *c = code_object_parse(m, sizeof *m, NULL);
    assert_non_null(c);
    assert_string_equal(c->target, "gfx90a:xnack-");
    assert_null(code_object_kernel(c, "K"));
    const struct code_object_kernel *k = code_object_kernel(c, "k");
    assert_non_null(k);
    assert_string_equal(k->symbol, "k.kd");
    assert_int_equal(k->n_args, 4);
    assert_true(k->args[0].kind == CODE_ARG_BUFFER && k->args[0].size == 8);
    assert_true(k->args[1].kind == CODE_ARG_VALUE && k->args[1].offset == 8);
    assert_true(k->args[2].kind == CODE_ARG_VALUE && k->args[2].size == 4);
    assert_true(k->args[3].kind == CODE_ARG_HIDDEN && k->kernarg_bytes == 32);
    assert_int_equal(k->explicit_bytes, 24);
    assert_true(k->calls_host && !k->allocates && !k->launches);
    assert_true(k->vector_registers == 50 && k->scalar_registers == 40 && k->wavefront == 64);
    assert_true(k->vector_spills == 3 && k->scalar_spills == 2);
    assert_true(k->shared_bytes == 400 && k->private_bytes == 160);
    free(m);
}

static void what_a_kernel_takes_is_told(void **state)
{
    (void)state;
    struct image *m = good();
    json_t *told = hip_describe_kernel(m, sizeof *m, "k");
    assert_non_null(told);
    assert_int_equal(json_integer_value(json_object_get(told, "registers")), 50);
    assert_int_equal(json_integer_value(json_object_get(told, "scalar_registers")), 40);
    assert_int_equal(json_integer_value(json_object_get(told, "spills")), 5);
    assert_int_equal(json_integer_value(json_object_get(told, "shared_bytes")), 400);
    json_decref(told);
    assert_null(hip_describe_kernel(m, sizeof *m, "other"));
    assert_null(hip_describe_kernel("text", 4, "k"));
    free(m);
}

static void variables_come_with_their_values(void **state)
{
    (void)state;
    struct image *m = good();
    cleanup_code_object struct code_object *c = code_object_parse(m, sizeof *m, NULL);
    struct code_object_variable v[5];
    uint64_t cursor = 0;
    size_t n = 0;
    assert_non_null(c);
    while (n < 5 && code_object_next_variable(c, &cursor, &v[n]))
        n++;
    assert_int_equal(n, 4); /* a kernel's descriptor is none */
    assert_string_equal(v[0].name, "set");
    assert_memory_equal(v[0].initial, m->data + 4, 4);
    assert_true(!v[0].relocated && !v[0].constant);
    assert_string_equal(v[1].name, "pointer");
    assert_true(v[1].relocated);
    assert_string_equal(v[2].name, "zeroed");
    assert_true(v[2].bytes == 64 && !v[2].initial);
    assert_string_equal(v[3].name, "table");
    assert_true(v[3].constant && v[3].initial == m->data + 20);
    free(m);
}

static void hidden_state_is_seen(void **state)
{
    (void)state;
    struct image *m = good();
    cleanup_code_object struct code_object *c = code_object_parse(m, sizeof *m, NULL);
    assert_non_null(c);
    /* Without a table of all symbols: more can be written than the variables take. */
    assert_true(code_object_hides_state(c));
    m->sections[SECTION_DATA].sh_offset += 4;
    m->sections[SECTION_DATA].sh_size = 12;
    m->sections[SECTION_DATA].sh_addr += 4;
    assert_false(code_object_hides_state(c));
    /* With one: a variable of the module's own, in memory that can be written. */
    m->sections[SECTION_RELOCATIONS] = m->sections[SECTION_SYMBOLS];
    m->sections[SECTION_RELOCATIONS].sh_type = SHT_SYMTAB;
    assert_false(code_object_hides_state(c));
    m->symbols[5].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT); /* constant */
    assert_false(code_object_hides_state(c));
    m->symbols[4].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    assert_true(code_object_hides_state(c));
    free(m);
}

/* Whether metadata that is changed in this way is refused. */
static void assert_broken(const struct text *t, const char *words)
{
    kgrade_error err = {.code = ""};
    struct image *m = image_with(t);
    assert_null(code_object_parse(m, sizeof *m, &err));
    assert_string_equal(err.code, "image_invalid");
    if (!strstr(err.message, words))
        fail_msg("no \"%s\" in: %s", words, err.message);
    free(m);
}

/* The metadata with `from` instead of the first `to` of the same length. */
static struct text changed(const char *from, const char *to, size_t n)
{
    struct text t;
    put_all(&t);
    uint8_t *at = memmem(t.bytes, t.n, from, n);
    assert_non_null(at);
    memcpy(at, to, n);
    return t;
}

static void broken_metadata_is_refused(void **state)
{
    (void)state;
    struct text t = changed("\xa5.size\xce\0\0\0\x0c", "\xa5.size\xce\0\0\0\x0d", 11);
    assert_broken(&t, "overlap");
    t = changed("\xa5.size\xce\0\0\0\x08\xab.value_kind\xb6",
                "\xa5.size\xce\0\0\0\x09\xab.value_kind\xb6", 24);
    assert_broken(&t, "outside their block");
    t = changed("\xa5.size\xce\0\0\0\x08", "\xa5.size\xce\0\0\0\x04", 11);
    assert_broken(&t, "8 bytes");
    t = changed(".sgpr_count", ".vgpr_count", 11);
    assert_broken(&t, "twice");
    t = changed(".offset", ".offsat", 7);
    assert_broken(&t, "without an offset");
    t = changed(".kernarg_segment_size", ".kernarg_segment_sise", 21);
    assert_broken(&t, "how many bytes");
    t = changed(".kernarg_segment_size\xce\0\0\0\x20", ".kernarg_segment_size\xce\x7f\0\0\x20", 26);
    assert_broken(&t, "more memory");
    t = changed("amdhsa.target", "amdhsa.torget", 13);
    assert_broken(&t, "which target");
    t = changed("-gfx90a", "-efx90a", 7);
    assert_broken(&t, "target");
    t = changed("\xa1k", "\xa1\0", 2);
    assert_broken(&t, "name");
    t = changed("\x94\x83", "\x93\x83", 2);
    assert_broken(&t, "a key is no text");
    put_all(&t);
    put(&t, 0);
    assert_broken(&t, "follows");
}

static void limits_hold(void **state)
{
    (void)state;
    struct text t = {.n = 0};
    put(&t, 0x81);
    put_text(&t, "x");
    for (int i = 0; i <= CODE_OBJECT_MAX_DEPTH; i++)
        put(&t, 0x91);
    put(&t, 0);
    assert_broken(&t, "nested");
    t.n = 0;
    put(&t, 0x81);
    put_text(&t, "amdhsa.kernels");
    put(&t, 0xdd); /* 16 million elements in a few bytes */
    for (int i = 0; i < 4; i++)
        put(&t, i == 0);
    assert_broken(&t, "list");
    put_all(&t);
    uint8_t *args = memmem(t.bytes, t.n, ".args", 5);
    struct text long_list = {.n = (size_t)(args + 5 - t.bytes)};
    memcpy(long_list.bytes, t.bytes, long_list.n);
    put(&long_list, 0xdc);
    put(&long_list, (CODE_OBJECT_MAX_ARGS + 1) >> 8);
    put(&long_list, (CODE_OBJECT_MAX_ARGS + 1) & 0xff);
    for (int i = 0; i <= CODE_OBJECT_MAX_ARGS; i++)
        put(&long_list, 0);
    assert_broken(&long_list, "sensible length");
}

static void other_files_are_no_code_objects(void **state)
{
    (void)state;
    kgrade_error err = {.code = ""};
    struct image *m = good();
    assert_null(code_object_parse("text", 4, &err));
    m->header.e_machine = EM_X86_64;
    assert_null(code_object_parse(m, sizeof *m, &err));
    m->header.e_machine = 224;
    m->note.n_type = 31;
    assert_null(code_object_parse(m, sizeof *m, &err));
    assert_non_null(strstr(err.message, "no metadata"));
    m->note.n_type = 32;
    m->header.e_shnum = 0; /* ELF's way to have more than 65279 */
    assert_null(code_object_parse(m, sizeof *m, &err));
    assert_non_null(strstr(err.message, "not counted"));
    m->header.e_shoff = 0;
    cleanup_code_object struct code_object *bare = code_object_parse(m, sizeof *m, &err);
    assert_non_null(bare);
    assert_false(code_object_hides_state(bare));
    free(m);
}

static void use(const void *data, size_t size)
{
    cleanup_code_object struct code_object *c = code_object_parse(data, size, NULL);
    struct code_object_variable v;
    uint64_t cursor = 0, sum = 0;
    const uint8_t *picked = NULL;
    size_t bytes = 0;
    assert_true(code_object_extent(data, size) <= size);
    if (!code_object_pick(data, size, "gfx90a", &picked, &bytes, NULL))
        assert_true(picked >= (const uint8_t *)data &&
                    bytes <= size - (size_t)(picked - (const uint8_t *)data));
    sum += c && code_object_hides_state(c);
    while (c && code_object_next_variable(c, &cursor, &v)) {
        sum += strlen(v.name);
        for (uint64_t i = 0; v.initial && i < v.bytes; i++)
            sum += v.initial[i];
    }
    (void)*(volatile uint64_t *)&sum;
}

static void cut_and_changed_files_are_never_read_past_their_end(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7f, 0xc4, 0xdf, 0xff};
    struct image *m = good();
    size_t all = offsetof(struct image, metadata) + m->note.n_descsz;
    for (size_t i = 0; i <= all; i++) {
        uint8_t *exact = malloc(all); /* so that the sanitizer sees every byte too many */
        memcpy(exact, m, i);
        uint8_t *cut = realloc(exact, i ? i : 1);
        use(cut, i);
        free(cut);
    }
    for (size_t i = 0; i < all; i++) {
        for (size_t k = 0; k < sizeof values; k++) {
            uint8_t *exact = malloc(all);
            memcpy(exact, m, all);
            exact[i] = values[k];
            use(exact, all);
            free(exact);
        }
    }
    free(m);
}

static void targets_fit_by_processor_and_features(void **state)
{
    (void)state;
    assert_true(code_object_target_fits("gfx90a", "gfx90a:sramecc+:xnack-"));
    assert_true(code_object_target_fits("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
    assert_true(code_object_target_fits("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"));
    assert_false(code_object_target_fits("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
    assert_false(code_object_target_fits("gfx90a:xnack-", "gfx90a"));
    assert_false(code_object_target_fits("gfx90", "gfx90a"));
    assert_false(code_object_target_fits("gfx90a", "gfx942"));
    assert_false(code_object_target_fits("", ""));
}

#define BUNDLE_BYTES 256

/* Three entries: the host's, one for any gfx90a, one for gfx90a:xnack-; contents are the last bytes of the file. */
static void make_bundle(uint8_t ret[BUNDLE_BYTES])
{
    static const char *const names[] = {"host-x86_64-unknown-linux",
                                        "hipv4-amdgcn-amd-amdhsa--gfx90a",
                                        "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"};
    const uint64_t offsets[] = {200, 200, 216}, sizes[] = {0, 16, 24}, n = 3;
    size_t at = 24;
    memset(ret, 0, BUNDLE_BYTES);
    memcpy(ret, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(ret + at, &n, 8);
    at += 8;
    for (size_t i = 0; i < n; i++) {
        uint64_t length = strlen(names[i]);
        memcpy(ret + at, &offsets[i], 8);
        memcpy(ret + at + 8, &sizes[i], 8);
        memcpy(ret + at + 16, &length, 8);
        memcpy(ret + at + 24, names[i], length);
        at += 24 + length;
    }
}

static void bundles_have_an_entry_for_each_target(void **state)
{
    (void)state;
    uint8_t bundle[BUNDLE_BYTES];
    const uint8_t *picked;
    size_t size;
    kgrade_error err = {.code = ""};
    make_bundle(bundle);
    assert_int_equal(code_object_pick(bundle, sizeof bundle, "gfx90a", &picked, &size, NULL), 0);
    assert_true(picked == bundle + 200 && size == 16);
    assert_int_equal(
        code_object_pick(bundle, sizeof bundle, "gfx90a:sramecc+:xnack-", &picked, &size, NULL), 0);
    assert_true(picked == bundle + 216 && size == 24);
    assert_int_equal(code_object_pick(bundle, sizeof bundle, "gfx942", &picked, &size, &err), -1);
    assert_string_equal(err.code, "image_wrong_target");
    assert_non_null(strstr(err.message, "gfx90a, gfx90a:xnack-, not for gfx942"));
    assert_int_equal(code_object_extent(bundle, sizeof bundle), 240);
    assert_int_equal(code_object_extent(bundle, 230), 230);
    assert_int_equal(code_object_pick(bundle, 239, "gfx90a", &picked, &size, &err), -1);
    assert_string_equal(err.code, "image_invalid");
    assert_int_equal(code_object_pick("CCOB....", 8, "gfx90a", &picked, &size, &err), -1);
    assert_non_null(strstr(err.message, "compressed"));
    assert_int_equal(code_object_extent("text", 4), 0);
    for (size_t cut = 0; cut < sizeof bundle; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1);
        memcpy(exact, bundle, cut);
        use(exact, cut);
        free(exact);
    }
    struct image *m = good();
    assert_int_equal(code_object_pick(m, sizeof *m, "gfx1", &picked, &size, NULL), 0);
    assert_true(picked == (uint8_t *)m && size == sizeof *m);
    assert_int_equal(code_object_extent(m, sizeof *m), sizeof *m);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_read),
        cmocka_unit_test(what_a_kernel_takes_is_told),
        cmocka_unit_test(variables_come_with_their_values),
        cmocka_unit_test(hidden_state_is_seen),
        cmocka_unit_test(broken_metadata_is_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(other_files_are_no_code_objects),
        cmocka_unit_test(cut_and_changed_files_are_never_read_past_their_end),
        cmocka_unit_test(targets_fit_by_processor_and_features),
        cmocka_unit_test(bundles_have_an_entry_for_each_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
