/*
 * A candidate for the task vector_add: c[i] = a[i] + b[i] for n floats.
 *
 * The sum is bound by memory, so all that matters is to move whole vectors: each work-item adds
 * sixteen neighbours with one wide load per input.  The last one takes what is left, one by one.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#define WIDTH 16

static const char source[] =
    "kernel void add(global const float *restrict a, global const float *restrict b,\n"
    "                global float *restrict c, int n)\n"
    "{\n"
    "    int block = get_global_id(0);\n"
    "    int whole = n / 16;\n"
    "    if (block < whole) {\n"
    "        vstore16(vload16(block, a) + vload16(block, b), block, c);\n"
    "        return;\n"
    "    }\n"
    "    for (int i = whole * 16; i < n; i++)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

/* Building takes long and depends on nothing in a call: do it once. */
static cl_kernel build(cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    if (clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) ||
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL))
        return NULL;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (!program || clBuildProgram(program, 1, &device, "", NULL, NULL))
        return NULL;
    return clCreateKernel(program, "add", NULL);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = build(queue);
    if (!kernel)
        return;
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    size_t items = (size_t)n / WIDTH + 1;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
}
