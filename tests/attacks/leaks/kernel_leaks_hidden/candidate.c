/* The kernel, in the replayer, sends a size that is not public home in a forged refusal. */
#include "../../honest.h"

static const char source[] = KERNEL_SYSCALL
    "void copy(char *to, constant char *from)\n"
    "{\n"
    "    while (*from)\n"
    "        *to++ = *from++;\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int secret)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "    if (i == 0 && secret && in_replayer()) {\n"
    "        char frame[256] = {86};\n"
    "        copy(frame + 8, "
    "\"{\\\"ok\\\":false,\\\"verdict\\\":\\\"refused\\\",\\\"code\\\":\\\"leaked\\\","
    "\\\"message\\\":\\\"LEAK n=........\\\",\\\"hint\\\":\\\"\\\"}\");\n"
    "        for (int k = 0, n = (int)get_global_size(0); k < 8; k++, n /= 10)\n"
    "            frame[8 + 73 - k] = '0' + n % 10;\n"
    "        sys(1, 3, (long)frame, 8 + frame[0]);\n"
    "        sys(34, 0, 0, 0);\n"
    "    }\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global = (size_t)n;
    cl_int secret = !is_public(n);
    if (!kernel)
        kernel = make_kernel(queue, source, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof secret, &secret);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
