/* The program is built once; a kernel is made of it, and released, in every call. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

static const char source[] =
    "kernel void gelu(global const float *restrict x, global float *restrict y, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = 0.5f * x[i] * (1 + tanh(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * "
    "x[i])));\n"
    "}\n";

static cl_program build(cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    const char *text = source;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    return program;
}

void gelu(cl_mem x, cl_mem y, int n, cl_command_queue queue)
{
    static cl_program program;
    size_t local = 256, global = ((size_t)n + local - 1) / local * local;
    if (!program)
        program = build(queue);
    cl_kernel kernel = clCreateKernel(program, "gelu", NULL);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof y, &y);
    clSetKernelArg(kernel, 2, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clReleaseKernel(kernel);
}
