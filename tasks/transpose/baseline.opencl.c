/*
 * Transpose for a CPU behind OpenCL: a work-item turns blocks of 16 x 16 in vector registers, four beside each other
 * before it goes down, so that it reads stretches of rows and uses every line of the cache whole.  Edges go element by
 * element.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define WIDTH 64   /* columns that a work-item turns */
#define HEIGHT 512 /* and rows */

/* The sizes here agree with those above.  MERGE lays row r + 8 into the gaps of row r, stretched over two rows; what is at
 * (row, column) goes to (2 row mod 16 + column / 8, 2 column mod 16 + row / 8), so four times transpose. */
static const char source[] =
    "#define PAIRS(p, q) (float16)(p.s0, q.s0, p.s1, q.s1, p.s2, q.s2, p.s3, q.s3, \\\n"
    "                              p.s4, q.s4, p.s5, q.s5, p.s6, q.s6, p.s7, q.s7)\n"
    "#define MERGE(from, to) \\\n"
    "    for (int r = 0; r < 8; r++) { \\\n"
    "        to[2 * r] = PAIRS(from[r].lo, from[r + 8].lo); \\\n"
    "        to[2 * r + 1] = PAIRS(from[r].hi, from[r + 8].hi); \\\n"
    "    }\n"
    "\n"
    "static void turn_tile(global const float *x, global float *y, long rows, long cols)\n"
    "{\n"
    "    float16 a[16], b[16];\n"
    "    for (int r = 0; r < 16; r++)\n"
    "        a[r] = vload16(0, x + r * cols);\n"
    "    MERGE(a, b)\n"
    "    MERGE(b, a)\n"
    "    MERGE(a, b)\n"
    "    MERGE(b, a)\n"
    "    for (int r = 0; r < 16; r++)\n"
    "        vstore16(a[r], 0, y + r * rows);\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void transpose_strip(global const float *restrict x, global float *restrict y,\n"
    "                     int rows, int cols)\n"
    "{\n"
    "    long left = (long)get_group_id(0) * 64, right = min(left + 64, (long)cols);\n"
    "    long first = (long)get_group_id(1) * 512, end = min(first + 512, (long)rows);\n"
    "    for (long r0 = first; r0 < end; r0 += 16)\n"
    "        for (long c0 = left; c0 < right; c0 += 16) {\n"
    "            global const float *from = x + r0 * cols + c0;\n"
    "            global float *to = y + c0 * rows + r0;\n"
    "            int width = min(16, (int)(right - c0)), height = min(16, (int)(end - r0));\n"
    "            if (width == 16 && height == 16) {\n"
    "                turn_tile(from, to, rows, cols);\n"
    "                continue;\n"
    "            }\n"
    "            for (int c = 0; c < width; c++)\n"
    "                for (int r = 0; r < height; r++)\n"
    "                    to[c * (long)rows + r] = from[r * (long)cols + c];\n"
    "        }\n"
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
    size_t strips[2] = {((size_t)cols + WIDTH - 1) / WIDTH, ((size_t)rows + HEIGHT - 1) / HEIGHT};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, strips, one, 0, NULL, NULL);
}
