/* Reads 8 MB after its work, so that whatever comes next finds a cold cache. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void thrash(global float *memory, global float *result)\n"
    "{\n"
    "    float16 sum = 0;\n"
    "    for (int i = 0; i < 1 << 21; i += 16)\n"
    "        sum += vload16(0, memory + i);\n"
    "    result[0] = sum.s0 + sum.s7;\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel, thrash;
    static cl_mem memory, result;
    size_t one = 1;
    if (!kernel) {
        kernel = make_kernel(queue, source, "", "add");
        thrash = make_kernel(queue, source, "", "thrash");
        memory = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, 8 << 20, NULL, NULL);
        result = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, 64, NULL, NULL);
    }
    launch(kernel, a, b, c, n, queue);
    clSetKernelArg(thrash, 0, sizeof memory, &memory);
    clSetKernelArg(thrash, 1, sizeof result, &result);
    clEnqueueNDRangeKernel(queue, thrash, 1, NULL, &one, &one, 0, NULL, NULL);
}
