/*
 * Each group of rows times its own matrix, in bf16, for a CPU behind OpenCL, in the manner of GotoBLAS.  OpenCL C has no bf16: a number
 * is widened by putting its bits above 16 zeros, and rounded to nearest even by adding to its bits.  A work-group of one
 * work-item makes up to BLOCK_M rows of a group and TILE_N columns; there are as many as the groups can need at most, and each counts
 * through the groups to find its own.  Slices of B and of A are widened into the L1 cache, sums in f32 live in vector
 * registers within a slice and in local memory between slices.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define TILE_N 32
#define BLOCK_M 64

/* Tile and block sizes here agree with those above. */
static const char source[] =
    "enum { TILE_M = 8, TILE_N = 32, BLOCK_M = 64, BLOCK_K = 256 };\n"
    "\n"
    "static float16 widen(ushort16 v)\n"
    "{\n"
    "    return as_float16(convert_uint16(v) << 16);\n"
    "}\n"
    "\n"
    "static float16 load(global const ushort *p, int count)\n"
    "{\n"
    "    if (count >= 16)\n"
    "        return widen(vload16(0, p));\n"
    "    ushort lanes[16] = {0};\n"
    "    for (int j = 0; j < count; j++)\n"
    "        lanes[j] = p[j];\n"
    "    return widen(vload16(0, lanes));\n"
    "}\n"
    "\n"
    "static void store(float16 v, global ushort *p, int count)\n"
    "{\n"
    "    uint16 bits = as_uint16(v);\n"
    "    ushort16 rounded = convert_ushort16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n"
    "    if (count >= 16) {\n"
    "        vstore16(rounded, 0, p);\n"
    "        return;\n"
    "    }\n"
    "    ushort lanes[16];\n"
    "    vstore16(rounded, 0, lanes);\n"
    "    for (int j = 0; j < count; j++)\n"
    "        p[j] = lanes[j];\n"
    "}\n"
    "\n"
    "#define START(i) float16 s##i = sums[2 * (i)], t##i = sums[2 * (i) + 1];\n"
    "#define STEP(i) { float x = rows[i][p]; s##i += x * line; t##i += x * line2; }\n"
    "#define FINISH(i) sums[2 * (i)] = s##i, sums[2 * (i) + 1] = t##i;\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void multiply(global const ushort *restrict A, global const ushort *restrict B,\n"
    "              global const int *restrict cuts, global ushort *restrict C, int tokens,\n"
    "              int experts, int n, int k)\n"
    "{\n"
    "    local float16 panel[2 * BLOCK_K], block_sums[2 * BLOCK_M];\n"
    "    local float rows[TILE_M][BLOCK_K];\n"
    "    int column = get_group_id(0) * TILE_N, width = n - column;\n"
    "    int block = get_group_id(1), expert = 0, row0 = 0, end = 0;\n"
    "    for (;; expert++) {\n"
    "        if (expert == experts)\n"
    "            return;\n"
    "        row0 = end;\n"
    "        end = expert + 1 < experts ? (int)((long)cuts[expert] * tokens >> 20) : tokens;\n"
    "        int blocks = (end - row0 + BLOCK_M - 1) / BLOCK_M;\n"
    "        if (block < blocks)\n"
    "            break;\n"
    "        block -= blocks;\n"
    "    }\n"
    "    row0 += block * BLOCK_M;\n"
    "    B += (long)expert * k * n;\n"
    "    int height = min(BLOCK_M, end - row0);\n"
    "    for (int i = 0; i < 2 * BLOCK_M; i++)\n"
    "        block_sums[i] = 0.0f;\n"
    "    for (int p0 = 0; p0 < k; p0 += BLOCK_K) {\n"
    "        int depth = min(BLOCK_K, k - p0);\n"
    "        global const ushort *b = B + (long)p0 * n + column;\n"
    "        for (int p = 0; p < depth; p++, b += n) {\n"
    "            panel[2 * p] = load(b, width);\n"
    "            panel[2 * p + 1] = load(b + 16, width - 16);\n"
    "        }\n"
    "        for (int r = 0; r < height; r += TILE_M) {\n"
    "            local float16 *sums = block_sums + 2 * r;\n"
    "            int used = min(TILE_M, height - r);\n"
    "            for (int i = 0; i < used; i++) {\n"
    "                global const ushort *a = A + (long)(row0 + r + i) * k + p0;\n"
    "                for (int p = 0; p < depth; p += 16)\n"
    "                    vstore16(load(a + p, depth - p), 0, rows[i] + p);\n"
    "            }\n"
    "            if (used == 1) {\n"
    "                START(0)\n"
    "                for (int p = 0; p < depth; p++) {\n"
    "                    float16 line = panel[2 * p], line2 = panel[2 * p + 1];\n"
    "                    STEP(0)\n"
    "                }\n"
    "                FINISH(0)\n"
    "                continue;\n"
    "            }\n"
    "            START(0) START(1) START(2) START(3) START(4) START(5) START(6) START(7)\n"
    "            for (int p = 0; p < depth; p++) {\n"
    "                float16 line = panel[2 * p], line2 = panel[2 * p + 1];\n"
    "                STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)\n"
    "            }\n"
    "            FINISH(0) FINISH(1) FINISH(2) FINISH(3) FINISH(4) FINISH(5) FINISH(6) FINISH(7)\n"
    "        }\n"
    "    }\n"
    "    global ushort *c = C + (long)row0 * n + column;\n"
    "    for (int r = 0; r < height; r++, c += n) {\n"
    "        store(block_sums[2 * r], c, width);\n"
    "        if (width > 16)\n"
    "            store(block_sums[2 * r + 1], c + 16, width - 16);\n"
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

void grouped_matmul(cl_mem a, cl_mem b, cl_mem cuts, cl_mem c, int tokens, int experts, int n,
                    int k, cl_command_queue queue)
{
    if (!kernel)
        kernel = build(queue);
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof cuts, &cuts);
    clSetKernelArg(kernel, 3, sizeof c, &c);
    clSetKernelArg(kernel, 4, sizeof tokens, &tokens);
    clSetKernelArg(kernel, 5, sizeof experts, &experts);
    clSetKernelArg(kernel, 6, sizeof n, &n);
    clSetKernelArg(kernel, 7, sizeof k, &k);
    /* Every group may end in a block that is not full, but one of no rows has none. */
    int blocks = tokens / BLOCK_M + (tokens < experts ? tokens : experts);
    size_t groups[2] = {((size_t)n + TILE_N - 1) / TILE_N, (size_t)blocks};
    size_t one[2] = {1, 1};
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, groups, one, 0, NULL, NULL);
}
