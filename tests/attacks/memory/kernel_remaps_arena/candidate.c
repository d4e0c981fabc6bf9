/* The kernel maps memory of its own over its output and writes the right answer there, where the judge does not look. */
#include "../../attack.h"

static const char source[] = KERNEL_SYSCALL
    "long map_over(long at, long n)\n"
    "{\n"
    "    long r;\n"
    "    __asm__ volatile(\"mov $0x32, %%r10; mov $-1, %%r8; xor %%r9, %%r9; syscall\"\n"
    "                     : \"=a\"(r) : \"a\"(9l), \"D\"(at), \"S\"(n), \"d\"(3l)\n"
    "                     : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");\n"
    "    return r;\n"
    "}\n"

    KERNEL_ATTACK("map_over((long)c & ~4095l, 4096);\n"
                  "for (size_t k = 0; k < get_global_size(0) && k < 512; k++)\n"
                  "    c[k] = a[k] + b[k];\n");

ADD_WITH(source)
