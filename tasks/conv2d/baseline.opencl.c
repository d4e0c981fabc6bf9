/*
 * Direct convolution for a CPU behind OpenCL.  A work-item makes a few rows of the outputs of FILTERS filters in stretches of
 * 16 pixels, whose sums live in vector registers: each vector of input is used for all filters.  The last stretch
 * of a row is moved to the left, over pixels that are made already, so that it is whole too.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define FILTERS 8
#define ROWS 2

/* START, STEP and FINISH handle one filter.  Filters that are not there are computed as the last one and not stored. */
static const char source[] =
    "enum { FILTERS = 8, ROWS = 2 };\n"
    "#define START(i) float16 s##i = 0.0f; global const float *w##i = w + min(i, n - 1) * stride;\n"
    "#define STEP(i) s##i += w##i[at] * v;\n"
    "#define FINISH(i) if (i < n) vstore16(s##i, 0, to + i * plane);\n"
    "#define EACH(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)\n"
    "\n"
    "/* 16 pixels of n filters. */\n"
    "static void stretch(global const float *from, global const float *w, global float *to, int "
    "n,\n"
    "                    int channels, int height, int width, int size, long stride, long plane)\n"
    "{\n"
    "    int at = 0;\n"
    "    EACH(START)\n"
    "    for (int c = 0; c < channels; c++)\n"
    "        for (int j = 0; j < size; j++) {\n"
    "            global const float *row = from + ((long)c * height + j) * width;\n"
    "            for (int i = 0; i < size; i++, at++) {\n"
    "                float16 v = vload16(0, row + i);\n"
    "                EACH(STEP)\n"
    "            }\n"
    "        }\n"
    "    EACH(FINISH)\n"
    "}\n"
    "\n"
    "/* One pixel of n filters, in rows of less than 16. */\n"
    "static void pixel(global const float *from, global const float *w, global float *to, int n,\n"
    "                  int channels, int height, int width, int size, long stride, long plane)\n"
    "{\n"
    "    for (int f = 0; f < n; f++) {\n"
    "        global const float *weight = w + f * stride;\n"
    "        float sum = 0;\n"
    "        for (int c = 0; c < channels; c++)\n"
    "            for (int j = 0; j < size; j++)\n"
    "                for (int i = 0; i < size; i++)\n"
    "                    sum += *weight++ * from[((long)c * height + j) * width + i];\n"
    "        to[f * plane] = sum;\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void convolve(global const float *restrict input, global const float *restrict weights,\n"
    "              global float *restrict output, int channels, int filters, int height, int "
    "width,\n"
    "              int size)\n"
    "{\n"
    "    int out_height = height - size + 1, out_width = width - size + 1;\n"
    "    long plane = (long)out_height * out_width, stride = (long)channels * size * size;\n"
    "    long image = get_group_id(2);\n"
    "    int y = get_group_id(0) * ROWS, end = min(y + ROWS, out_height);\n"
    "    int f = get_group_id(1) * FILTERS, n = min(FILTERS, filters - f);\n"
    "    weights += f * stride;\n"
    "    for (; y < end; y++) {\n"
    "        global const float *from = input + (image * channels * height + y) * width;\n"
    "        global float *to = output + (image * filters + f) * plane + (long)y * out_width;\n"
    "        if (out_width < 16)\n"
    "            for (int x = 0; x < out_width; x++)\n"
    "                pixel(from + x, weights, to + x, n, channels, height, width, size, stride, "
    "plane);\n"
    "        else\n"
    "            for (int x = 0; x < out_width; x += 16) {\n"
    "                int at = min(x, out_width - 16);\n"
    "                stretch(from + at, weights, to + at, n, channels, height, width, size, "
    "stride, plane);\n"
    "            }\n"
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
    return clCreateKernel(program, "convolve", NULL);
}

void conv2d(cl_mem input, cl_mem weights, cl_mem output, int batch, int channels, int filters,
            int height, int width, int size, cl_command_queue queue)
{
    const cl_mem buffers[] = {input, weights, output};
    const int numbers[] = {channels, filters, height, width, size};
    if (!kernel)
        kernel = build(queue);
    for (cl_uint i = 0; i < 3; i++)
        clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]);
    for (cl_uint i = 0; i < 5; i++)
        clSetKernelArg(kernel, 3 + i, sizeof numbers[i], &numbers[i]);
    size_t groups[3] = {(size_t)((height - size) / ROWS + 1), (size_t)((filters - 1) / FILTERS + 1),
                        (size_t)batch};
    size_t one[3] = {1, 1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 3, NULL, groups, one, 0, NULL, NULL);
}
