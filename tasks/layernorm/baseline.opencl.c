/*
 * Layer normalisation by rows for a CPU behind OpenCL: a row stays in the cache, so one work-item goes over it three times in
 * full vectors: mean, variance, result.  Short rows are taken several to a work-item, so that starting a work-group costs
 * nothing beside its work.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define ELEMENTS_PER_ITEM 4096

static const char source[] =
    "static float sum_of(float16 v)\n"
    "{\n"
    "    float8 v8 = v.lo + v.hi;\n"
    "    float4 v4 = v8.lo + v8.hi;\n"
    "    float2 v2 = v4.lo + v4.hi;\n"
    "    return v2.lo + v2.hi;\n"
    "}\n"
    "\n"
    "static void normalise(global const float *x, global const float *weight,\n"
    "                      global const float *bias, global float *y, int cols, float eps)\n"
    "{\n"
    "    int whole = cols / 16 * 16;\n"
    "    float16 sum16 = 0.0f, squares16 = 0.0f;\n"
    "    for (int j = 0; j < whole; j += 16)\n"
    "        sum16 += vload16(0, x + j);\n"
    "    float sum = sum_of(sum16);\n"
    "    for (int j = whole; j < cols; j++)\n"
    "        sum += x[j];\n"
    "    float mean = sum / cols;\n"
    "    for (int j = 0; j < whole; j += 16) {\n"
    "        float16 v = vload16(0, x + j) - mean;\n"
    "        squares16 += v * v;\n"
    "    }\n"
    "    float squares = sum_of(squares16);\n"
    "    for (int j = whole; j < cols; j++)\n"
    "        squares += (x[j] - mean) * (x[j] - mean);\n"
    "    float scale = 1.0f / sqrt(squares / cols + eps);\n"
    "    for (int j = 0; j < whole; j += 16)\n"
    "        vstore16((vload16(0, x + j) - mean) * scale * vload16(0, weight + j) +\n"
    "                     vload16(0, bias + j),\n"
    "                 0, y + j);\n"
    "    for (int j = whole; j < cols; j++)\n"
    "        y[j] = (x[j] - mean) * scale * weight[j] + bias[j];\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void layernorm_rows(global const float *restrict x, global const float *restrict weight,\n"
    "                    global const float *restrict bias, global float *restrict y,\n"
    "                    int rows, int cols, float eps, int rows_per_item)\n"
    "{\n"
    "    int first = get_group_id(0) * rows_per_item, end = min(first + rows_per_item, rows);\n"
    "    for (int r = first; r < end; r++)\n"
    "        normalise(x + (long)r * cols, weight, bias, y + (long)r * cols, cols, eps);\n"
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
    return clCreateKernel(program, "layernorm_rows", NULL);
}

void layernorm(cl_mem x, cl_mem weight, cl_mem bias, cl_mem y, int rows, int cols, float eps,
               cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    int rows_per_item = cols < ELEMENTS_PER_ITEM ? ELEMENTS_PER_ITEM / cols : 1;
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof weight, &weight);
    clSetKernelArg(kernel, 2, sizeof bias, &bias);
    clSetKernelArg(kernel, 3, sizeof y, &y);
    clSetKernelArg(kernel, 4, sizeof rows, &rows);
    clSetKernelArg(kernel, 5, sizeof cols, &cols);
    clSetKernelArg(kernel, 6, sizeof eps, &eps);
    clSetKernelArg(kernel, 7, sizeof rows_per_item, &rows_per_item);
    size_t items = ((size_t)rows + (size_t)rows_per_item - 1) / (size_t)rows_per_item, one = 1;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &one, 0, NULL, NULL);
}
