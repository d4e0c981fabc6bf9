/* Replaces the host's clock in its process by one that stands still. */
#include "../../../attacks/honest.h"

#include <dlfcn.h>
#include <sys/mman.h>

static void detour(const char *name, const unsigned char *code, size_t n)
{
    char *at = dlsym(RTLD_DEFAULT, name);
    char *page = (char *)((uintptr_t)at & ~(uintptr_t)4095);
    if (at && !mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
        memcpy(at, code, n);
}

__attribute__((constructor)) static void replace(void)
{
    /* movq $0,(%rsi); movq $0,8(%rsi); xor %eax,%eax; ret */
    static const unsigned char still[] = {0x48, 0xc7, 0x06, 0, 0, 0, 0,    0x48, 0xc7,
                                          0x46, 8,    0,    0, 0, 0, 0x31, 0xc0, 0xc3};
    detour("clock_gettime", still, sizeof still);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
