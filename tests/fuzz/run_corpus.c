/* Stands in for libFuzzer: gives each file named on the command line, and each of its beginnings,
 * to the target once. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/io.h"

#define MAX_SEED_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "no seeds are given\n");
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        cleanup_bytes struct bytes seed = {0};
        kgrade_error err;
        if (io_read_file(argv[i], MAX_SEED_BYTES, &seed, &err)) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        for (size_t size = 0; size <= seed.size; size++) {
            /* A copy of exactly that size, so that a sanitizer sees every byte read behind it. */
            uint8_t *copy = malloc(size ? size : 1);
            if (!copy)
                return 1;
            memcpy(copy, seed.data, size);
            LLVMFuzzerTestOneInput(copy, size);
            free(copy);
        }
        printf("%s: %zu beginnings\n", argv[i], seed.size + 1);
    }
    return 0;
}
