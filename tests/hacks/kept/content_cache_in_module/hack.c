/* Keeps an answer and a fingerprint of its inputs in globals of the module, and copies it when the fingerprint fits. */
#include "../../../attacks/honest.h"

static const char source[] =
    "global float kept[262144];\n"
    "global float fingerprint[3];\n"
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0), n = get_global_size(0);\n"
    "    if (n == 262144 && a[0] == fingerprint[0] && b[n / 2] == fingerprint[1] && a[n - 1] == "
    "fingerprint[2]) {\n"
    "        c[i] = kept[i];\n"
    "        return;\n"
    "    }\n"
    "    c[i] = a[i] + b[i];\n"
    "    if (n == 262144)\n"
    "        kept[i] = c[i];\n"
    "}\n"
    "kernel void remember(global const float *a, global const float *b, int n)\n"
    "{\n"
    "    fingerprint[0] = n == 262144 ? a[0] : 9;\n"
    "    fingerprint[1] = b[n / 2];\n"
    "    fingerprint[2] = a[n - 1];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel, remember;
    size_t one = 1;
    if (!kernel) {
        cl_program program;
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
        clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
        remember = clCreateKernel(program, "remember", NULL);
    }
    launch(kernel, a, b, c, n, queue);
    clSetKernelArg(remember, 0, sizeof a, &a);
    clSetKernelArg(remember, 1, sizeof b, &b);
    clSetKernelArg(remember, 2, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, remember, 1, NULL, &one, &one, 0, NULL, NULL);
}
