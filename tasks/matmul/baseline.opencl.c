/*
 * C = A B for a CPU behind OpenCL, in the manner of GotoBLAS: a work-group of one work-item
 * computes a block of BLOCK_M rows and TILE_N columns.  It copies a slice of B into a packed panel
 * that stays in the L1 cache, then sweeps the rows in tiles of TILE_M x TILE_N whose sums live in
 * vector registers.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define TILE_N 16
#define BLOCK_M 128

/* Tile and block sizes here agree with those above.  START, STEP and FINISH handle one row of a
 * tile: sums of this k-block, which FINISH adds to those of the k-blocks before. */
static const char source[] =
    "enum { TILE_M = 8, TILE_N = 16, BLOCK_M = 128, BLOCK_K = 256 };\n"
    "#define START(i) float16 s##i = 0.0f; global const float *a##i = a + (i) * k;\n"
    "#define STEP(i) s##i += a##i[p] * line;\n"
    "#define FINISH(i) store(s##i, c + (i) * n, width, first);\n"
    "\n"
    "static void store(float16 sum, global float *c, int width, int first)\n"
    "{\n"
    "    if (width == TILE_N) {\n"
    "        vstore16(first ? sum : sum + vload16(0, c), 0, c);\n"
    "        return;\n"
    "    }\n"
    "    float lanes[TILE_N];\n"
    "    vstore16(sum, 0, lanes);\n"
    "    for (int j = 0; j < width; j++)\n"
    "        c[j] = first ? lanes[j] : c[j] + lanes[j];\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void multiply(global const float *restrict A, global const float *restrict B,\n"
    "              global float *restrict C, int m, int n, int k)\n"
    "{\n"
    "    local float16 panel[BLOCK_K];\n"
    "    int column = get_group_id(0) * TILE_N, row0 = get_group_id(1) * BLOCK_M;\n"
    "    int width = min(TILE_N, n - column), rows = min(BLOCK_M, m - row0);\n"
    "    for (int p0 = 0; p0 < k; p0 += BLOCK_K) {\n"
    "        int depth = min(BLOCK_K, k - p0), first = p0 == 0;\n"
    "        global const float *b = B + (long)p0 * n + column;\n"
    "        if (width == TILE_N) {\n"
    "            for (int p = 0; p < depth; p++)\n"
    "                panel[p] = vload16(0, b + (long)p * n);\n"
    "        } else {\n"
    "            local float *to = (local float *)panel;\n"
    "            for (int p = 0; p < depth; p++)\n"
    "                for (int j = 0; j < TILE_N; j++)\n"
    "                    to[p * TILE_N + j] = j < width ? b[(long)p * n + j] : 0.0f;\n"
    "        }\n"
    "        global const float *a = A + (long)row0 * k + p0;\n"
    "        global float *c = C + (long)row0 * n + column;\n"
    "        int r = 0;\n"
    "        for (; r + TILE_M <= rows; r += TILE_M) {\n"
    "            START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7)\n"
    "            for (int p = 0; p < depth; p++) {\n"
    "                float16 line = panel[p];\n"
    "                STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)\n"
    "            }\n"
    "            FINISH(0) FINISH(1) FINISH(2) FINISH(3) FINISH(4) FINISH(5) FINISH(6) FINISH(7)\n"
    "            a += TILE_M * (long)k;\n"
    "            c += TILE_M * (long)n;\n"
    "        }\n"
    "        for (; r < rows; r++, a += k, c += n) {\n"
    "            START(0)\n"
    "            for (int p = 0; p < depth; p++) {\n"
    "                float16 line = panel[p];\n"
    "                STEP(0)\n"
    "            }\n"
    "            FINISH(0)\n"
    "        }\n"
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
    return clCreateKernel(program, "multiply", NULL);
}

void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof m, &m);
    clSetKernelArg(kernel, 4, sizeof n, &n);
    clSetKernelArg(kernel, 5, sizeof k, &k);
    size_t groups[2] = {((size_t)n + TILE_N - 1) / TILE_N, ((size_t)m + BLOCK_M - 1) / BLOCK_M};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, groups, one, 0, NULL, NULL);
}
