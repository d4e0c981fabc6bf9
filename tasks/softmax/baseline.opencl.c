/*
 * Softmax by rows for a CPU behind OpenCL.  A row fits in the L1 or L2 cache, so one work-item goes
 * over it three times in full vectors: largest element, exponentials and their sum, scaling.  Short
 * rows are taken several to a work-item, so that starting a work-group costs nothing beside its
 * work.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define ELEMENTS_PER_ITEM 4096

static const char source[] =
    "static float largest_of(float16 v)\n"
    "{\n"
    "    float8 v8 = fmax(v.lo, v.hi);\n"
    "    float4 v4 = fmax(v8.lo, v8.hi);\n"
    "    float2 v2 = fmax(v4.lo, v4.hi);\n"
    "    return fmax(v2.lo, v2.hi);\n"
    "}\n"
    "\n"
    "static float sum_of(float16 v)\n"
    "{\n"
    "    float8 v8 = v.lo + v.hi;\n"
    "    float4 v4 = v8.lo + v8.hi;\n"
    "    float2 v2 = v4.lo + v4.hi;\n"
    "    return v2.lo + v2.hi;\n"
    "}\n"
    "\n"
    "static void softmax_row(global const float *x, global float *y, int cols)\n"
    "{\n"
    "    int whole = cols / 16 * 16;\n"
    "    float16 largest16 = -INFINITY, sum16 = 0.0f;\n"
    "    for (int j = 0; j < whole; j += 16)\n"
    "        largest16 = fmax(largest16, vload16(0, x + j));\n"
    "    float largest = largest_of(largest16);\n"
    "    for (int j = whole; j < cols; j++)\n"
    "        largest = fmax(largest, x[j]);\n"
    "\n"
    "    for (int j = 0; j < whole; j += 16) {\n"
    "        float16 e = exp(vload16(0, x + j) - largest);\n"
    "        vstore16(e, 0, y + j);\n"
    "        sum16 += e;\n"
    "    }\n"
    "    float sum = sum_of(sum16);\n"
    "    for (int j = whole; j < cols; j++) {\n"
    "        float e = exp(x[j] - largest);\n"
    "        y[j] = e;\n"
    "        sum += e;\n"
    "    }\n"
    "\n"
    "    float scale = 1.0f / sum;\n"
    "    for (int j = 0; j < whole; j += 16)\n"
    "        vstore16(vload16(0, y + j) * scale, 0, y + j);\n"
    "    for (int j = whole; j < cols; j++)\n"
    "        y[j] *= scale;\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void softmax_rows(global const float *restrict x, global float *restrict y, int rows, int "
    "cols,\n"
    "                  int rows_per_item)\n"
    "{\n"
    "    int first = get_group_id(0) * rows_per_item, end = min(first + rows_per_item, rows);\n"
    "    for (int r = first; r < end; r++)\n"
    "        softmax_row(x + (long)r * cols, y + (long)r * cols, cols);\n"
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
    return clCreateKernel(program, "softmax_rows", NULL);
}

void softmax(cl_mem x, cl_mem y, int rows, int cols, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    int rows_per_item = cols < ELEMENTS_PER_ITEM ? ELEMENTS_PER_ITEM / cols : 1;
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof y, &y);
    clSetKernelArg(kernel, 2, sizeof rows, &rows);
    clSetKernelArg(kernel, 3, sizeof cols, &cols);
    clSetKernelArg(kernel, 4, sizeof rows_per_item, &rows_per_item);
    size_t items = ((size_t)rows + (size_t)rows_per_item - 1) / (size_t)rows_per_item, one = 1;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &one, 0, NULL, NULL);
}
