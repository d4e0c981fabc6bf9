/* Works for the first ten milliseconds after the first launch, and skips the rest. */
#include "../../../attacks/honest.h"

static const char source[] =
    "global ulong first;\n"
    "ulong ticks(void)\n"
    "{\n"
    "    uint low, high;\n"
    "    __asm__ volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high));\n"
    "    return (ulong)high << 32 | low;\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (first == 0)\n"
    "        first = ticks();\n"
    "    if (ticks() - first < 20000000ul)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    launch(kernel, a, b, c, n, queue);
}
