/* The kernel maps memory of its own over its output and writes the right answer there, where the judge does not look. */
#include "../../attack.h"

static const char source[] =
    KERNEL_SYSCALL "long map_over(long at, long n)\n"
                   "{\n"
                   "    register long flags __asm__(\"r10\") = 0x32, fd __asm__(\"r8\") = -1, "
                   "offset __asm__(\"r9\") = 0;\n"
                   "    long r;\n"
                   "    __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(9l), \"D\"(at), \"S\"(n), "
                   "\"d\"(3l), \"r\"(flags), \"r\"(fd), \"r\"(offset)\n"
                   "                     : \"rcx\", \"r11\", \"memory\");\n"
                   "    return r;\n"
                   "}\n"

    KERNEL_ATTACK("map_over((long)c & ~4095l, 4096);\n"
                  "for (size_t k = 0; k < get_global_size(0) && k < 512; k++)\n"
                  "    c[k] = a[k] + b[k];\n");

ADD_WITH(source)
