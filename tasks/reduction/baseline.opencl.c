/*
 * Sum of a vector for a CPU behind OpenCL: each work-group of one sums a stretch in four vector registers, so that the
 * additions need not wait for each other, and a last work-item adds up the parts.  The sum of no elements is what that
 * work-item makes of no parts.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define STRETCH 32768
#define MAX_PARTS 65536 /* of 32768 elements: 2^31 and more */

static const char source[] =
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void sum_stretch(global const float *restrict x, global float *restrict parts, int n)\n"
    "{\n"
    "    long first = (long)get_group_id(0) * 32768, end = min(first + 32768, (long)n);\n"
    "    float16 a = 0, b = 0, c = 0, d = 0;\n"
    "    long i = first;\n"
    "    for (; i + 64 <= end; i += 64) {\n"
    "        a += vload16(0, x + i);\n"
    "        b += vload16(0, x + i + 16);\n"
    "        c += vload16(0, x + i + 32);\n"
    "        d += vload16(0, x + i + 48);\n"
    "    }\n"
    "    float16 v = (a + b) + (c + d);\n"
    "    float8 v8 = v.lo + v.hi;\n"
    "    float4 v4 = v8.lo + v8.hi;\n"
    "    float sum = (v4.x + v4.y) + (v4.z + v4.w);\n"
    "    for (; i < end; i++)\n"
    "        sum += x[i];\n"
    "    parts[get_group_id(0)] = sum;\n"
    "}\n"
    "\n"
    "kernel void sum_parts(global const float *restrict parts, global float *restrict sum, int n)\n"
    "{\n"
    "    double total = 0;\n"
    "    for (int i = 0; i < n; i++)\n"
    "        total += parts[i];\n"
    "    *sum = total;\n"
    "}\n";

static cl_kernel sum_stretch, sum_parts;
static cl_mem parts;

static void build(cl_command_queue queue)
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
        return;
    }
    sum_stretch = clCreateKernel(program, "sum_stretch", NULL);
    sum_parts = clCreateKernel(program, "sum_parts", NULL);
    parts = clCreateBuffer(context, CL_MEM_READ_WRITE, MAX_PARTS * sizeof(float), NULL, NULL);
}

void reduction(cl_mem x, cl_mem sum, int n, cl_command_queue queue)
{
    if (!sum_stretch)
        build(queue);
    int n_parts = (int)(((long)n + STRETCH - 1) / STRETCH);
    clSetKernelArg(sum_stretch, 0, sizeof x, &x);
    clSetKernelArg(sum_stretch, 1, sizeof parts, &parts);
    clSetKernelArg(sum_stretch, 2, sizeof n, &n);
    clSetKernelArg(sum_parts, 0, sizeof parts, &parts);
    clSetKernelArg(sum_parts, 1, sizeof sum, &sum);
    clSetKernelArg(sum_parts, 2, sizeof n_parts, &n_parts);
    size_t groups = (size_t)n_parts, one = 1;
    if (groups)
        clEnqueueNDRangeKernel(queue, sum_stretch, 1, NULL, &groups, &one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, sum_parts, 1, NULL, &one, &one, 0, NULL, NULL);
}
