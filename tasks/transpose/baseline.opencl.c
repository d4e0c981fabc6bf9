/*
 * Transpose for a CPU behind OpenCL: a work-item turns blocks of 16 x 16 in registers, one below the other, so that every
 * line of the cache that is read or written is used whole.  A strip of them is long enough to hide what a work-group
 * costs, and short enough to keep all cores busy.  Edges go element by element.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define TILE 16
#define STRIP 512 /* rows */

static const char source[] =
    "static void turn_tile(global const float *x, global float *y, long rows, long cols)\n"
    "{\n"
    "    float tile[16][16];\n"
    "    for (int r = 0; r < 16; r++)\n"
    "        vstore16(vload16(0, x + r * cols), 0, tile[r]);\n"
    "    for (int c = 0; c < 16; c++) {\n"
    "        float line[16];\n"
    "        for (int r = 0; r < 16; r++)\n"
    "            line[r] = tile[r][c];\n"
    "        vstore16(vload16(0, line), 0, y + c * rows);\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void transpose_strip(global const float *restrict x, global float *restrict y,\n"
    "                     int rows, int cols)\n"
    "{\n"
    "    long c0 = (long)get_group_id(0) * 16;\n"
    "    int width = min(16, (int)(cols - c0));\n"
    "    long first = (long)get_group_id(1) * 512, end = min(first + 512, (long)rows);\n"
    "    for (long r0 = first; r0 < end; r0 += 16) {\n"
    "        global const float *from = x + r0 * cols + c0;\n"
    "        global float *to = y + c0 * rows + r0;\n"
    "        int height = min(16, (int)(rows - r0));\n"
    "        if (width == 16 && height == 16) {\n"
    "            turn_tile(from, to, rows, cols);\n"
    "            continue;\n"
    "        }\n"
    "        for (int c = 0; c < width; c++)\n"
    "            for (int r = 0; r < height; r++)\n"
    "                to[c * (long)rows + r] = from[r * (long)cols + c];\n"
    "    }\n"
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
    return clCreateKernel(program, "transpose_strip", NULL);
}

void transpose(cl_mem x, cl_mem y, int rows, int cols, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof y, &y);
    clSetKernelArg(kernel, 2, sizeof rows, &rows);
    clSetKernelArg(kernel, 3, sizeof cols, &cols);
    size_t strips[2] = {((size_t)cols + TILE - 1) / TILE, ((size_t)rows + STRIP - 1) / STRIP};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, strips, one, 0, NULL, NULL);
}
