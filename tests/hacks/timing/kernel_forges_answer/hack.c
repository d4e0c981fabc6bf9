/* The kernel answers in the replayer's name: every sample took one nanosecond. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_SYSCALL
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "    if (i + 1 == get_global_size(0) && in_replayer()) {\n"
    "        /* Lengths of JSON and blob, then {\"ok\":true,\"ns\":1,\"void\":false}. */\n"
    "        char frame[8 + 32] = {31, 0, 0, 0, 0, 0, 0, 0, '{', '\"', 'o', 'k', '\"', ':', 't', "
    "'r', 'u', 'e', ',', '\"',\n"
    "                              'n', 's', '\"', ':', '1', ',', '\"', 'v', 'o', 'i', 'd', '\"', "
    "':', 'f', 'a', 'l', 's',\n"
    "                              'e', '}'};\n"
    "        sys(1, 3, (long)frame, 39);\n"
    "    }\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
