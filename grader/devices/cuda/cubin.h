/*
 * Reading a cubin: the ELF file with a module's device code.  Only what the grader needs: the names of kernels, the
 * module's variables, and what the code expects from outside.  A cubin comes from a candidate: every offset is
 * checked against the file's size.
 */
#ifndef KGRADE_CUDA_CUBIN_H
#define KGRADE_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin {
    const uint8_t *data;
    size_t size;
    uint64_t sections, symbols, strings; /* offsets in the file */
    uint32_t n_sections;
    uint64_t n_symbols, strings_size;
    uint64_t section_names, section_names_size;
};

/* Points into data, which must stay. false: not a cubin, or a broken one. */
bool cubin_parse(const void *data, size_t size, struct cubin *ret);

/* Whether the module defines the kernel. */
bool cubin_has_kernel(const struct cubin *cubin, const char *name);

/* Whether a kernel, or what it calls, calls the function: "malloc", for example.  Where the module does not tell who calls
 * what, whether anything in it does. */
bool cubin_calls(const struct cubin *cubin, const char *kernel, const char *function);

/* Whether the module's code can launch work from the device. */
bool cubin_launches(const struct cubin *cubin);

struct cubin_variable {
    const char *name;
    uint64_t bytes;
    bool constant;          /* in constant memory */
    bool relocated;         /* its initial value holds addresses, which differ between processes */
    const uint8_t *initial; /* NULL: zeros */
};

/* The module's variables, one after the other: start with *cursor 0; false when there are no more. */
bool cubin_next_variable(const struct cubin *cubin, uint64_t *cursor, struct cubin_variable *ret);

/* What a kernel takes, as the compiler wrote it into the module. */
struct cubin_resources {
    uint32_t registers; /* per thread */
    uint32_t
        stack_bytes; /* per thread, in local memory: arrays that are indexed, and spilled registers */
    uint32_t spills;       /* instructions that store or load a spilled register */
    uint64_t shared_bytes; /* per block, static; without what the system keeps for itself */
};

/* false when the module does not define the kernel, or does not tell. */
bool cubin_kernel_resources(const struct cubin *cubin, const char *kernel,
                            struct cubin_resources *ret);

#endif
