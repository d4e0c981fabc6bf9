/*
 * Inclusive prefix sum for a CPU behind OpenCL.  The vector is cut into at most MAX_PARTS parts: one kernel adds up all
 * parts but the last, another scans each part, beginning with the sum of those before it.  Parts are long enough that
 * starting a work-group costs nothing beside its work, and few enough that each can add up the others' sums itself.
 *
 * Sixteen neighbours are scanned in a register by four shifts and additions.  That does not depend on what precedes
 * them, so the only chain from vector to vector is one addition, which can afford double precision.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define MAX_PARTS 256
#define LEAST_PART 8192

static const char source[] =
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void sum_parts(global const float *restrict x, global float *restrict sums, int part)\n"
    "{\n"
    "    x += (long)get_group_id(0) * part;\n"
    "    float16 a = 0, b = 0, c = 0, d = 0;\n"
    "    for (int i = 0; i < part; i += 64) {\n"
    "        a += vload16(0, x + i);\n"
    "        b += vload16(0, x + i + 16);\n"
    "        c += vload16(0, x + i + 32);\n"
    "        d += vload16(0, x + i + 48);\n"
    "    }\n"
    "    float16 v = (a + b) + (c + d);\n"
    "    float8 v8 = v.lo + v.hi;\n"
    "    float4 v4 = v8.lo + v8.hi;\n"
    "    sums[get_group_id(0)] = (v4.x + v4.y) + (v4.z + v4.w);\n"
    "}\n"
    "\n"
    "static float16 scan16(float16 v)\n"
    "{\n"
    "    v += (float16)(0, v.s01234567, v.s89ab, v.scd, v.se);\n"
    "    v += (float16)((float2)0, v.s01234567, v.s89ab, v.scd);\n"
    "    v += (float16)((float4)0, v.s01234567, v.s89ab);\n"
    "    v += (float16)((float8)0, v.s01234567);\n"
    "    return v;\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void scan_parts(global const float *restrict x, global float *restrict y,\n"
    "                global const float *restrict sums, int n, int part)\n"
    "{\n"
    "    long first = (long)get_group_id(0) * part;\n"
    "    int count = (int)min((long)part, n - first), i = 0;\n"
    "    double before = 0;\n"
    "    for (int p = 0; p < (int)get_group_id(0); p++)\n"
    "        before += sums[p];\n"
    "    x += first;\n"
    "    y += first;\n"
    "    for (; i + 16 <= count; i += 16) {\n"
    "        float16 v = scan16(vload16(0, x + i));\n"
    "        vstore16(v + (float)before, 0, y + i);\n"
    "        before += v.sf;\n"
    "    }\n"
    "    for (; i < count; i++) {\n"
    "        before += x[i];\n"
    "        y[i] = before;\n"
    "    }\n"
    "}\n";

static cl_kernel sum_parts, scan_parts;
static cl_mem sums;

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
    sum_parts = clCreateKernel(program, "sum_parts", NULL);
    scan_parts = clCreateKernel(program, "scan_parts", NULL);
    sums = clCreateBuffer(context, CL_MEM_READ_WRITE, MAX_PARTS * sizeof(float), NULL, NULL);
}

void prefix_sum(cl_mem input, cl_mem output, int n, cl_command_queue queue)
{
    if (!sum_parts)
        build(queue);
    int part = (n / MAX_PARTS / 64 + 1) * 64; /* whole steps of sum_parts' loop */
    if (part < LEAST_PART)
        part = LEAST_PART;
    size_t parts = (size_t)((n - 1) / part) + 1, all_but_last = parts - 1, one = 1;
    clSetKernelArg(sum_parts, 0, sizeof input, &input);
    clSetKernelArg(sum_parts, 1, sizeof sums, &sums);
    clSetKernelArg(sum_parts, 2, sizeof part, &part);
    clSetKernelArg(scan_parts, 0, sizeof input, &input);
    clSetKernelArg(scan_parts, 1, sizeof output, &output);
    clSetKernelArg(scan_parts, 2, sizeof sums, &sums);
    clSetKernelArg(scan_parts, 3, sizeof n, &n);
    clSetKernelArg(scan_parts, 4, sizeof part, &part);
    if (all_but_last)
        clEnqueueNDRangeKernel(queue, sum_parts, 1, NULL, &all_but_last, &one, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, scan_parts, 1, NULL, &parts, &one, 0, NULL, NULL);
}
