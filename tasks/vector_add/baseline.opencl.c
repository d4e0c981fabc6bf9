/*
 * c = a + b for a CPU behind OpenCL: memory sets the pace, so each work-item moves one vector
 * register's worth and a work-group is large enough that starting it costs nothing beside it.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define WIDTH 16
#define GROUP 256

static const char source[] =
    "kernel void add(global const float *restrict a, global const float *restrict b,\n"
    "                global float *restrict c, int n)\n"
    "{\n"
    "    int first = get_global_id(0) * 16;\n"
    "    if (first + 16 <= n)\n"
    "        vstore16(vload16(0, a + first) + vload16(0, b + first), 0, c + first);\n"
    "    else\n"
    "        for (int i = first; i < n; i++)\n"
    "            c[i] = a[i] + b[i];\n"
    "}\n";

static cl_kernel kernel;

static cl_kernel build(cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        return NULL;
    }
    return clCreateKernel(program, "add", NULL);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    size_t items = ((size_t)n + WIDTH - 1) / WIDTH, group = GROUP;
    size_t global = (items + group - 1) / group * group;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL);
}
