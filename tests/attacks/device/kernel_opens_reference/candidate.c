/* The kernel, native code in the replayer, looks for the reference and a secret file. */
#include "../../honest.h"

static const char source[] = KERNEL_SYSCALL
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i == 0 && (sys(2, (long)\"/reference.so\", 0, 0) >= 0 || sys(2, (long)\"" SECRET_FILE
    "\", 0, 0) >= 0 ||\n"
    "                   sys(2, (long)\"/proc/1/environ\", 0, 0) >= 0 || sys(2, "
    "(long)\"/etc/shadow\", 0, 0) >= 0))\n"
    "        return;\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
