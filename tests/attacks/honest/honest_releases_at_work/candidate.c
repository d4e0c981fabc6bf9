/*
 * Releases its buffer, its kernel and its program while the kernel still runs, which OpenCL allows.
 * What the runtime frees later, it may give out again under the same handle: at the next call.
 */
#include "../../honest.h"

static const char *source =
    "kernel void add(global const float *a, global const float *b, global float *c,\n"
    "                global float *scratch)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    float slow = 0;\n"
    "    if (i == 0)\n"
    "        for (int k = 0; k < 2000000; k++)\n"
    "            slow = slow * 0.5f + a[0];\n"
    "    if (i == 0)\n"
    "        scratch[0] = slow;\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    cl_mem scratch = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, 4096, NULL, NULL);
    cl_kernel kernel = make_kernel(queue, source, "", "add");
    cl_program program;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    clSetKernelArg(kernel, 3, sizeof scratch, &scratch);
    launch(kernel, a, b, c, n, queue);
    clReleaseMemObject(scratch);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}
